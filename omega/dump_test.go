package omega_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
)

func TestDump_SaysWhatIsInTheCell(t *testing.T) {
	cell, _ := fullCell(t)
	text := dump(t, cell)
	require.Equal(t, text, dump(t, cell))
	require.Contains(t, text, `"html": "<&>"`)

	type object = map[string]any
	var got struct{ Machines, Schedulers, Accounts []object }
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Len(t, got.Machines, 3)
	a, b := got.Machines[0], got.Machines[1]
	require.Equal(t, "draining", a["condition"])
	require.Equal(t, "cpu=8,memory=16Gi", a["capacity"])
	require.Equal(t, "cpu=1,memory=13Gi", a["free"])
	require.Len(t, a["allocations"], 4)
	require.Equal(t, "service", a["allocations"].([]any)[3].(object)["grantee"])
	waiting := b["allocations"].([]any)[1].(object)
	require.Equal(t, "service", waiting["scheduler"])
	require.EqualValues(t, 100, waiting["precedence"])
	require.Equal(t, []any{object{"id": "1/0/2", "until": "2013-04-15T12:01:00.000000005Z"}}, waiting["after"])

	batch := got.Schedulers[0]
	require.Equal(t, object{
		"held": "cpu=30,memory=1Ti", "jobs": 3., "gang": 100., "lowest": -5., "highest": 5., "machines": "0-3,70",
	}, batch["limits"])
	require.EqualValues(t, 1, batch["epoch"])
	require.EqualValues(t, 2, batch["jobs"])
	require.Equal(t, "cpu=9,memory=4Gi", batch["holds"])
	require.Len(t, batch["marked"], 7)
	require.Equal(t, "preempted", batch["marked"].([]any)[0].(object)["fate"])
	require.Equal(t, "service", batch["marked"].([]any)[0].(object)["by"])
	require.Equal(t, "lost", batch["marked"].([]any)[1].(object)["fate"])
	require.Equal(t, object{"lowest": 0., "highest": 0., "machines": ""}, got.Schedulers[2]["limits"])
	require.Equal(t, object{"name": "", "used": "cpu=8,memory=1Gi"}, got.Accounts[0])
}

func TestDump_IsJSONOfAnEmptyCell(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	require.Equal(t, "{\n  \"machines\": [],\n  \"schedulers\": [],\n  \"accounts\": []\n}\n", dump(t, cell))
}

// The dump of a small cell.
func ExampleCell_Dump() {
	cell, space := exampleCell()
	batch, _ := cell.Register("batch", omega.Limits{})
	node0, _ := cell.Machine("node-0")
	need, _ := space.Parse("cpu=1500m,memory=2Gi")
	ads, _ := cell.Account(context.Background(), "ads")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: node0, Account: ads, Need: need})
	if _, err := batch.Commit(&tx); err != nil {
		panic(err)
	}
	if err := cell.Dump(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// {
	//   "machines": [
	//     {
	//       "id": "0",
	//       "name": "node-0",
	//       "condition": "ready",
	//       "capacity": "cpu=4,memory=8Gi",
	//       "free": "cpu=2500m,memory=6Gi",
	//       "seq": 2,
	//       "allocations": [
	//         {
	//           "id": "0/0/2",
	//           "scheduler": "batch",
	//           "account": "ads",
	//           "precedence": 0,
	//           "need": "cpu=1500m,memory=2Gi"
	//         }
	//       ]
	//     },
	//     {
	//       "id": "1",
	//       "name": "node-1",
	//       "condition": "ready",
	//       "capacity": "cpu=4,memory=8Gi",
	//       "free": "cpu=4,memory=8Gi",
	//       "seq": 1
	//     }
	//   ],
	//   "schedulers": [
	//     {
	//       "name": "batch",
	//       "epoch": 0,
	//       "jobs": 0,
	//       "holds": "cpu=1500m,memory=2Gi",
	//       "limits": {
	//         "lowest": 0,
	//         "highest": 0
	//       }
	//     }
	//   ],
	//   "accounts": [
	//     {
	//       "name": "ads",
	//       "used": "cpu=1500m,memory=2Gi"
	//     }
	//   ]
	// }
}

// A program is started again: its allocations go on under the IDs that it has kept.
func ExampleCell_Save() {
	cell, space := exampleCell()
	batch, _ := cell.Register("batch", omega.Limits{})
	node0, _ := cell.Machine("node-0")
	need, _ := space.Parse("cpu=1,memory=2Gi")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: node0, Need: need})
	if _, err := batch.Commit(&tx); err != nil {
		panic(err)
	}
	task, _ := tx.Allocation(0)
	kept, _ := task.MarshalText()
	var file bytes.Buffer
	if err := cell.Save(&file); err != nil {
		panic(err)
	}

	cell, err := omega.Restore(&file, space)
	if err != nil {
		panic(err)
	}
	batch, _ = cell.Replace("batch")
	fmt.Println("held:", space.Format(batch.Usage()))
	var again omega.AllocationID
	_ = again.UnmarshalText(kept)
	fmt.Println("released:", batch.Release(again) == nil)
	fmt.Println("held:", space.Format(batch.Usage()))
	// Output:
	// held: cpu=1,memory=2Gi
	// released: true
	// held: 0
}
