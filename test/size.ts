/**
 * How much of a test with many cases is done, from 0 to 1 and beyond: the one dial. `npm test` does a tenth, `npm run test:soak`
 * all of it; `TEST_SIZE=10 npx vitest run …` does more still.
 */
const size = Number(process.env.TEST_SIZE ?? 0.1)

/** Whether everything is to be done: for a test that takes long and cannot be done in part. */
export const isWhole = size >= 1

/** How far it is from one case to the next. Eleven in `npm test`: many lists repeat themselves after five or ten. */
export const stride = isWhole ? 1 : Math.round(1 / size) + 1

/** Some of a list, evenly spread. */
export function some<Item>(list: readonly Item[]): readonly Item[] {
  return list.filter((_, index) => index % stride === 0)
}

/** So many of so many cases. At least one. */
export function sized(all: number): number {
  return Math.max(1, Math.round(all * size))
}
