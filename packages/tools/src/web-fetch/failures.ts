import { isObject } from 'millrace/internal'

/** Explains to the model why a name has no address. */
export function lookupFailure(host: string, error?: NodeJS.ErrnoException): Error {
  if (error?.code === 'EAI_AGAIN')
    return new Error(`the name ${host} could not be resolved at the moment. Try again later`)
  return new Error(`there is no host named ${host}. Check the spelling, or search for the right address`)
}

/**
 * Explains to the model why a request failed. Uses only error codes: Node's messages contain addresses
 * and local file names.
 */
export function connectionFailure(url: URL, error: unknown): Error {
  const code = codeOf(error)
  const host = url.host
  if (code === 'ECONNREFUSED') return new Error(`${host} refuses connections: no server is listening there`)
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return new Error(`${host} cannot be reached from here`)
  if (code === 'ETIMEDOUT') return new Error(`${host} does not answer`)
  if (code.startsWith('HPE_'))
    return new Error(`${host} does not return valid HTTP (${code}). Check the port`)
  if (code === 'CERT_HAS_EXPIRED') return new Error(`the certificate of ${host} has expired`)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return new Error(`the certificate of ${host} is for another name: the address may be misspelled`)
  if (/CERT|SIGNATURE|ISSUER/.test(code))
    return new Error(`the certificate of ${host} is not trusted here (${code})`)
  if (/^(EPROTO|ERR_SSL|ERR_TLS)/.test(code))
    return new Error(
      `no secure connection to ${host} could be established (${code}). Check whether it supports https on that port`,
    )
  return new Error(`${host} closed the connection without a response${code && ` (${code})`}`)
}

/** Also handles the AggregateError of several addresses that all failed. */
function codeOf(error: unknown): string {
  if (!isObject(error)) return ''
  if (typeof error.code === 'string') return error.code
  return error instanceof AggregateError ? codeOf(error.errors[0]) : ''
}
