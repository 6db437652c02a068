/** A recorded HTTP request. */
export interface SentRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The request as a shell command. The key, which is never sent to the page, is `$API_KEY`. */
export function curlOf({ url, headers, body }: SentRequest): string {
  // `--data` would read a file for a body that starts with `@`.
  return [
    `curl -N ${withKey(url)}`,
    ...Object.entries(headers).map(([name, value]) => {
      const scheme = value === '[key]' && name === 'authorization' ? 'Bearer ' : ''
      return `-H ${withKey(`${name}: ${scheme}${value}`)}`
    }),
    ...(body ? [`--data-raw ${quoted(body)}`] : []),
  ].join(' \\\n  ')
}

/** In single quotes, a shell takes everything literally. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The key is a variable, so it is outside the single quotes. */
const withKey = (text: string) => quoted(text).replaceAll('[key]', `'"$API_KEY"'`)
