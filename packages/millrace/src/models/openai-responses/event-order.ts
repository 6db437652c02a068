/** Keeps an eye on the numbers of events. Not every server counts: they mean something once they were seen to rise. */
export interface EventOrder {
  /** The number of the latest event. */
  readonly sequence: number | undefined
  /** True if an event is the same as the one before. Calls `onDisorder`, which throws, if it should have come before that one. */
  isRepeated(data: string, number: unknown, type?: unknown): boolean
}

export function eventOrder(
  from: number | undefined,
  onDisorder: (number: number, after: number) => never,
): EventOrder {
  let latest = ''
  let sequence = from
  let counts = false
  return {
    get sequence() {
      return sequence
    },
    isRepeated(data, number, type) {
      if (typeof number !== 'number') return false
      // Numbers start again with it, also in the middle of a stream.
      if (type === 'response.created') {
        sequence = number
        counts = false
        return false
      }
      if (counts && number === sequence && data === latest) return true
      if (counts && sequence !== undefined && number + 1 === sequence) onDisorder(number, sequence)
      counts ||= sequence !== undefined && number > sequence
      sequence = number
      latest = data
      return false
    },
  }
}
