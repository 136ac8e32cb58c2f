// Package allot computes final allocations of dominant resource fairness, and judges the
// shares that users have.
//
//	Fill     the whole tasks that each user gets, by progressive filling
//	Divide   the same for tasks that can be divided without end
//	Audit    each user's share beside its fair share
//	Envies   the users that would rather have the holdings of others
//	Preempt  the users that lose allocations to a user below its fair share
//
// The functions take lists of users and keep no state. Package drf picks the next user,
// task by task.
package allot
