import { createHash } from 'node:crypto'

/** Ids that look like a provider's, the same in every run: made from what they are for. */
export function idOf(prefix: string, length: number, ...what: readonly (string | number)[]): string {
  const digest = createHash('sha512').update(what.join('/')).digest('hex')
  return prefix + digest.slice(0, length)
}

/** A response's id ends with its round, for clients that name the previous response instead of repeating the conversation. */
export function responseId(scenario: string, round: number): string {
  return idOf('resp_', 44, scenario, round) + round.toString(16).padStart(4, '0')
}

export const roundOf = (id: string) => Number.parseInt(id.slice(-4), 16)
