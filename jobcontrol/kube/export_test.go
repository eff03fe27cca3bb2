package kube

// TransformFor is the transform that Run falls back on.
var TransformFor = transformFor
