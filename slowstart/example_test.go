package slowstart_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobwright/jobwright/slowstart"
)

// A quota has room for five more pods. Run finds out in its third batch, and
// spares the API the other three calls.
func ExampleRun() {
	create := func(_ context.Context, i int) error {
		if i >= 5 {
			return errors.New("exceeded quota")
		}
		return nil
	}
	const wanted = 10
	done, err := slowstart.Run(context.Background(), wanted, slowstart.Config{}, create)
	fmt.Println("created:", done.Succeeded)
	fmt.Println("skipped:", wanted-done.Attempted)
	fmt.Println(err)
	// Output:
	// created: 5
	// skipped: 3
	// exceeded quota
	// exceeded quota
}
