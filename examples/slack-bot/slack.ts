import { createHmac, timingSafeEqual } from 'node:crypto'

export interface Slack {
  /** Calls a method of the Web API. Throws if Slack says no. */
  call(method: string, body: object): Promise<{ readonly ts: string }>
  /** Whether Slack sent this request: https://docs.slack.dev/authentication/verifying-requests-from-slack */
  isGenuine(headers: Headers, body: string): boolean
}

/** Older requests may be replays. */
const maxAgeSeconds = 5 * 60

export function slack(options: {
  readonly token: string
  readonly signingSecret: string
  readonly apiUrl?: string | undefined
}): Slack {
  const { token, signingSecret, apiUrl = 'https://slack.com/api/' } = options
  return {
    async call(method, body) {
      const response = await fetch(new URL(method, apiUrl), {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify(body),
      })
      const answer = (await response.json()) as { ok: boolean; error?: string; ts: string }
      if (!answer.ok) throw new Error(`Slack rejected ${method}: ${answer.error}`)
      return answer
    },
    isGenuine(headers, body) {
      const time = headers.get('x-slack-request-timestamp') ?? ''
      if (!(Math.abs(Date.now() / 1000 - Number(time)) < maxAgeSeconds)) return false
      const expected = Buffer.from(
        `v0=${createHmac('sha256', signingSecret).update(`v0:${time}:${body}`).digest('hex')}`,
      )
      const given = Buffer.from(headers.get('x-slack-signature') ?? '')
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}
