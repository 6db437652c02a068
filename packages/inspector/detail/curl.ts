/** What is known of a request that went over the wire. */
export interface SentRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The same request for a shell. The key, which never gets here, is to be in `$API_KEY`. */
export function curlOf({ url, headers, body }: SentRequest): string {
  // Not `--data`, which would take `@` for a file.
  return [
    `curl -N ${withKey(url)}`,
    ...Object.entries(headers).map(([name, value]) => {
      const scheme = value === '[key]' && name === 'authorization' ? 'Bearer ' : ''
      return `-H ${withKey(`${name}: ${scheme}${value}`)}`
    }),
    ...(body ? [`--data-raw ${quoted(body)}`] : []),
  ].join(' \\\n  ')
}

/** In single quotes a shell takes everything as it is. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The key is a variable, and stands outside of them. */
const withKey = (text: string) => quoted(text).replaceAll('[key]', `'"$API_KEY"'`)
