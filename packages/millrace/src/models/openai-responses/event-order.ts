/**
 * Tracks sequence numbers. Not every server counts, so they are ignored until they have increased
 * once.
 */
export interface EventOrder {
  /** The number of the latest event. */
  readonly sequence: number | undefined
  /**
   * True if an event repeats the previous one. Calls `onDisorder`, which throws, if the two are out
   * of order.
   */
  isRepeated(data: string, number: unknown, type?: unknown): boolean
}

export function eventOrder(
  from: number | undefined,
  onDisorder: (number: number, after: number) => never,
): EventOrder {
  let latest = ''
  let isCounting = false
  const order = {
    sequence: from,
    isRepeated(data: string, number: unknown, type?: unknown) {
      if (typeof number !== 'number') return false
      // Numbering restarts here, even in the middle of a stream.
      if (type === 'response.created') {
        order.sequence = number
        isCounting = false
        return false
      }
      const { sequence } = order
      if (isCounting && number === sequence && data === latest) return true
      if (isCounting && sequence !== undefined && number + 1 === sequence) onDisorder(number, sequence)
      isCounting ||= sequence !== undefined && number > sequence
      order.sequence = number
      latest = data
      return false
    },
  }
  return order
}
