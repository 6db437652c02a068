import type { Thread } from '../../../threads/index.ts'

/**
 * The rounds that a run goes on to say when whoever heard it is gone, each when it is over. `telling` is the one that was being told
 * then, and is dealt with. Ends with the run, or with the first round that answers somebody else.
 */
export async function* laterRounds(
  thread: Thread,
  { after, telling }: { readonly after: number; readonly telling: number | undefined },
): AsyncGenerator<number, undefined> {
  let known = telling
  let round = telling ?? 0
  let length = 0
  for await (const { event } of thread.follow({ after })) {
    if (event.type === 'run-start' && event.resumes === undefined) return
    if (event.type === 'round-start') {
      if (event.heard?.length) return
      round = event.round
    }
    if (event.type === 'text') length += event.text.length
    if (event.type === 'round-retract') {
      // It is told anew, and nobody hears that.
      known = undefined
      length = 0
    }
    if (event.type === 'round-end' || event.type === 'run-end') {
      if (length > 0 && round !== known) yield round
      length = 0
    }
    if (event.type === 'run-end') return
  }
}
