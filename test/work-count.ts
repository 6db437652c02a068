/**
 * The work of a piece of code, counted instead of timed: how many characters and elements pass
 * through built-in functions whose cost depends on the length of their input. The count is the same
 * on any machine, however busy it is.
 */
export interface Work {
  /** Characters of strings that were searched, sliced, joined, parsed or serialized. */
  chars: number
  /** Elements of arrays that were iterated or copied. */
  elements: number
}

type Method = (this: unknown, ...args: unknown[]) => unknown
type Cost = (self: unknown, result: unknown, args: readonly unknown[]) => number

const lengthOf = (value: unknown) => (typeof value === 'string' || Array.isArray(value) ? value.length : 0)

/** The length of the object. */
const all: Cost = (self) => lengthOf(self)
/** The length of the result. */
const made: Cost = (_, result) => lengthOf(result)
const one: Cost = () => 1
/** From the start of the search to its end. */
const searched: Cost = (self, found, [, from]) =>
  (typeof found === 'number' && found >= 0 ? found : lengthOf(self)) - (typeof from === 'number' ? from : 0)

const strings: Readonly<Record<string, Cost>> = {
  ...{ charCodeAt: one, codePointAt: one, at: one, charAt: one },
  ...{ slice: made, substring: made, trim: all, repeat: made, concat: made, padStart: made },
  ...{ indexOf: searched, lastIndexOf: all, includes: all, startsWith: one, endsWith: one },
  ...{ split: all, replace: all, replaceAll: all, match: all, matchAll: all, search: all },
  ...{ toLowerCase: all, toUpperCase: all, toWellFormed: all, isWellFormed: all, normalize: all },
}

const arrays: Readonly<Record<string | symbol, Cost>> = {
  ...{ map: all, filter: all, flatMap: all, forEach: all, reduce: all, some: all, every: all },
  ...{ find: all, findIndex: all, findLast: all, findLastIndex: all, includes: all, indexOf: all },
  ...{ slice: made, splice: all, concat: made, join: all, flat: all, reverse: all, shift: one },
  ...{ sort: all, toSorted: all, toSpliced: all, with: all, entries: all, keys: all, values: all },
  [Symbol.iterator]: all,
}

export interface WorkCount {
  readonly work: Readonly<Work>
  /** Runs something without counting it. */
  aside<Result>(action: () => Result): Result
  stop(): void
}

/**
 * Counts from now until `stop`. Counts everything in the process, so nothing else may run in the
 * meantime.
 */
export function countWork(): WorkCount {
  const work: Work = { chars: 0, elements: 0 }
  const undo: (() => void)[] = []
  let counting = true

  function watch(owner: object, name: string | symbol, kind: keyof Work, cost: Cost) {
    const usual = Object.getOwnPropertyDescriptor(owner, name)
    if (!usual) throw new Error(`${String(name)} does not exist`)
    const method: Method = usual.value
    undo.push(() => Object.defineProperty(owner, name, usual))
    Object.defineProperty(owner, name, {
      ...usual,
      value(this: unknown, ...args: unknown[]) {
        const result = Reflect.apply(method, this, args)
        if (counting) work[kind] += cost(this, result, args)
        return result
      },
    })
  }

  for (const name of Object.keys(strings)) watch(String.prototype, name, 'chars', strings[name] ?? all)
  for (const name of Reflect.ownKeys(arrays))
    watch(Array.prototype, name, 'elements', arrays[name as string] ?? all)
  watch(JSON, 'parse', 'chars', (_, __, [text]) => lengthOf(text))
  watch(JSON, 'stringify', 'chars', made)
  watch(RegExp.prototype, 'exec', 'chars', (_, __, [text]) => lengthOf(text))
  watch(RegExp.prototype, 'test', 'chars', (_, __, [text]) => lengthOf(text))

  return {
    work,
    aside(action) {
      const before = counting
      counting = false
      try {
        return action()
      } finally {
        counting = before
      }
    },
    stop() {
      counting = false
      for (const restore of undo.reverse()) restore()
    },
  }
}
