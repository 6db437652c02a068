import { isObject } from 'millrace/internal'

/** Why a name has no address, in words for a model. */
export function lookupFailure(host: string, error?: NodeJS.ErrnoException): Error {
  if (error?.code === 'EAI_AGAIN')
    return new Error(`the name ${host} could not be looked up just now. Try again later`)
  return new Error(`there is no host named ${host}. Check how it is spelled, or search for the right address`)
}

/**
 * Why a connection gave no answer, in words for a model. By code alone: the messages of Node name addresses, and files of this
 * machine.
 */
export function connectionFailure(url: URL, error: unknown): Error {
  const code = codeOf(error)
  const host = url.host
  if (code === 'ECONNREFUSED') return new Error(`${host} refuses connections: nothing listens there`)
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return new Error(`${host} cannot be reached from here`)
  if (code === 'ETIMEDOUT') return new Error(`${host} does not answer`)
  if (code.startsWith('HPE_'))
    return new Error(`${host} does not speak proper HTTP (${code}). Is the port right?`)
  if (code === 'CERT_HAS_EXPIRED') return new Error(`the certificate of ${host} has expired`)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return new Error(`the certificate of ${host} is for another name: its address may be misspelled`)
  if (/CERT|SIGNATURE|ISSUER/.test(code))
    return new Error(`the certificate of ${host} is not trusted here (${code})`)
  if (/^(EPROTO|ERR_SSL|ERR_TLS)/.test(code))
    return new Error(`no secure connection with ${host} came about (${code}). Does it speak https there?`)
  return new Error(`${host} closed the connection without an answer${code && ` (${code})`}`)
}

/** Also of the several attempts at the addresses of one name, which fail together. */
function codeOf(error: unknown): string {
  if (!isObject(error)) return ''
  if (typeof error.code === 'string') return error.code
  return error instanceof AggregateError ? codeOf(error.errors[0]) : ''
}
