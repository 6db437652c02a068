import type { Entry } from '../protocol/index.ts'

/** Returns its argument, so that a class that extends it adds its private fields to that object. */
class Marked {
  constructor(entry: Entry) {
    // biome-ignore lint/correctness/noConstructorReturn: see above
    return entry as unknown as Marked
  }
}

/**
 * The JSON of an event, on the entry that has it. A private field is part of the object, so that it
 * costs a third of a `WeakMap`, and nothing can see it: not JSON, a copy or a comparison.
 */
class WithJson extends Marked {
  readonly #event: string

  constructor(entry: Entry, event: string) {
    super(entry)
    this.#event = event
  }

  static of(entry: object): string | undefined {
    return #event in entry ? (entry as WithJson).#event : undefined
  }
}

/** For a store that has made the JSON of the event: it need not be made again for clients. Once per entry. */
export function rememberJson(entry: Entry, event: string): void {
  new WithJson(entry, event)
}

/** The JSON of the event, remembered or made now. */
export function eventJson(entry: Entry): string {
  return WithJson.of(entry) ?? JSON.stringify(entry.event)
}

/** The JSON of the entry, around that of the event. */
export function entryJson(entry: Entry): string {
  const { seq, from, at } = entry
  const event = WithJson.of(entry)
  if (event === undefined) return JSON.stringify(entry)
  return `{"seq":${seq},${from === undefined ? '' : `"from":${from},`}"at":${at},"event":${event}}`
}
