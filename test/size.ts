/**
 * How much of a test with many cases runs: a tenth in `npm test`, all of it in
 * `npm run test:soak` or `npm run test:nightly`, and more with `TEST_SIZE=10 npx vitest run …`.
 */
const size = Number(process.env.TEST_SIZE ?? 0.1)

/** Whether all cases run: for a slow test that cannot run in part. */
export const isWhole = size >= 1

/**
 * The distance from one case to the next. Eleven in `npm test`, since many lists repeat after five
 * or ten.
 */
export const stride = isWhole ? 1 : Math.round(1 / size) + 1

/** A part of a list, evenly spread. */
export function some<Item>(list: readonly Item[]): readonly Item[] {
  return list.filter((_, index) => index % stride === 0)
}

/** The number of cases to run. At least one. */
export function sized(all: number): number {
  return Math.max(1, Math.round(all * size))
}
