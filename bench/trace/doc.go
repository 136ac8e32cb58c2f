// Package trace reads recorded workloads: the submissions of users with their times, and
// the machines that they ran on.
//
//	Alibaba  ──┐
//	SWIM     ──┤ iter.Seq2[Job, error]   ┌────────┐
//	Rumen    ──┼────────────────────────▶│ Sorted ├──▶ jobs by submission
//	CSV      ──┘                         └────────┘
//	AlibabaNodes, RumenNodes, CSVNodes ──────────────▶ machines
//
// Readers stream: they hold one job at a time, however long the file is. A
// sequence reads its input as it is walked, so it can be walked once. It ends
// with the first error, an [Error] with the file, line and column, the value there and
// the expected one. Nothing is skipped or repaired.
//
// Every line ends with a newline, the last one too: a file that does
// not was cut, perhaps in the middle of a number. So was one without a job, a
// machine or a user. Some values make sense in the file and nowhere else, such as a task
// that fits on no machine. The caller is to find them: jobs say where their values
// are.
//
// Numbers may have a fraction and an exponent in all of the formats (2.67754e+06), as
// spreadsheets and data frames write them. They are read exactly, and nothing is
// rounded: 2.5e3 tasks are 2500, and 2.5 tasks are an error. So is a time that is not
// a whole number of nanoseconds. Weights are the nearest float64. NaN, Inf,
// hexadecimal digits and a plus sign in front are errors.
//
// # A format of our own
//
// [CSV] reads a format that other workloads can be converted to. It is comma separated,
// with a header that names the columns, in any order:
//
//	job,user,class,priority,submit_s,stage,tasks,duration_s,cpu,memory,gpu,input,places,models
//	sort-7,ada,batch,0,12.5,0,200,31.25,1,2Gi,,logs/monday,,
//	sort-7,,,,,1,10,60,2,8Gi,,,,
//	train,grace,service,3,14,0,4,3600,8,32Gi,0.5,,r1/n17;r2/n40,A100|V100
//
//	job         its name
//	submit_s    when it was submitted, in seconds; a whole number of nanoseconds
//	tasks       how many tasks are alike
//	duration_s  how long each runs
//	cpu         the need of each, of any kinds that the space has: quantities as
//	memory      of [resources.Space.Parse]; one column at least, and no task
//	gpu         needs nothing
//	user        its user, if that is known; so for the columns that follow
//	class       the sort of job, for statistics
//	priority    a whole number, the larger the sooner
//	stage       0 or more: tasks start when those of all lower stages have ended
//	input       the file that task i reads block i of
//	places      where the data of each task is: nodes or rack/node, split by ;
//	models      the machine models that will do, split by |
//
// The columns from user on may be left out. Lines of one job follow each other,
// each with tasks of another sort. A reader that holds one job at a time takes a
// name that comes again, after another one, for a new job. Columns user, class,
// priority and submit_s are those of its first line, and empty or the same on the
// others. A value holds no comma, and no quote. [CSVNodes] reads machines: name,
// rack, model, and a column for each kind; rack and model may be left out, and no
// machine has nothing. [Users] reads user and weight.
package trace
