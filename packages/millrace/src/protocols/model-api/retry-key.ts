/** For a request that says it was sent before, but not under which name. */
export const anyRetryKey = '*'

const sessions = ['session-id', 'session_id', 'x-session-id', 'x-claude-code-session-id']

/**
 * Identifies a request that a client sends again, from headers that real clients send:
 * - `idempotency-key`, by convention
 * - `x-stainless-retry-count`, from the second attempt of the SDKs of OpenAI and Anthropic
 * - the session of Codex (`session-id`), pi (`session_id`), opencode (`x-session-id`) and Claude
 *   Code, which send the same conversation again if a stream was cut
 */
export function retryKeyOf({ headers }: Request): string | undefined {
  const named = headers.get('idempotency-key')
  if (named) return `key:${named}`
  const session = sessions.map((name) => headers.get(name)).find(Boolean)
  if (session) return `session:${session}`
  return Number(headers.get('x-stainless-retry-count') ?? 0) > 0 ? anyRetryKey : undefined
}
