/** When something was said or heard: all characters up to here, by a clock that all processes share. */
export type Mark = readonly [chars: number, ms: number]

/** The monotonic clock, which is one for all processes of a machine. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

/** When so many characters were there. Marks are in order. */
export function timeOf(marks: readonly Mark[], chars: number): number | undefined {
  return marks.find(([end]) => end >= chars)?.[1]
}

/** How long each word was under way from who said it to who heard it. What was never heard has no delay. */
export function delaysOf(said: readonly Mark[], heard: readonly Mark[]): number[] {
  const delays: number[] = []
  let at = 0
  for (const [chars, ms] of said) {
    while (at < heard.length && (heard[at]?.[0] ?? 0) < chars) at++
    const mark = heard[at]
    if (!mark) break
    delays.push(mark[1] - ms)
  }
  return delays
}
