import type {
  JsonObject,
  Model,
  ModelCapabilities,
  ModelSettings,
  OptionTable,
  Problem,
  StreamOptions,
} from '../../protocol/index.ts'
import {
  aFunction,
  capabilitiesProblem,
  checkOptions,
  invalidInput,
  isObject,
  kindOf,
  MillraceError,
  mergeSettings,
  messageOf,
  settingsTable,
  someText,
} from '../../protocol/index.ts'
import { environment } from './environment.ts'
import type { HttpCall } from './http.ts'
import type { Fetch } from './http-response.ts'
import { isSafeToShow, secretsIn, secretsInFields, secretsInUrl, withoutSecrets } from './secrets.ts'

/**
 * The options of every model over HTTP. Settings are defaults for every request; the settings of a
 * request override them.
 */
export interface HttpModelOptions<Extra = JsonObject> extends Omit<ModelSettings, 'extra'> {
  /** The API key, or a function called for each request. Default: read from the environment. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  readonly baseURL?: string | undefined
  /** Replaces the global `fetch`, for example to use a proxy or to sign requests. */
  readonly fetch?: Fetch | undefined
  /**
   * The provider's name in events and errors. Opaque data is sent back only to the provider of the
   * same name. Default: derived from the address.
   */
  readonly provider?: string | undefined
  readonly capabilities?: Partial<ModelCapabilities> | undefined
  /** Fields of the provider's API, sent unchanged. */
  readonly extra?: Extra | undefined
}

/** What each API defines. */
export interface HttpModelSpec {
  readonly op: string
  readonly id: string
  readonly provider: string
  readonly baseURL: string
  readonly path: string
  readonly keyName: string | undefined
  readonly needsKey: boolean
  readonly keyHeaders: (key: string) => Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly capabilities: ModelCapabilities
}

/** What all models over HTTP share: identity, capabilities, settings, and how requests are made. */
export interface HttpModel extends Omit<Model, 'stream'> {
  readonly settings: (request: ModelSettings) => ModelSettings
  /** Gets the key and prepares a request. Throws `auth` if there is no key. */
  readonly call: (
    body: JsonObject,
    options: StreamOptions & { readonly settings: ModelSettings },
  ) => Promise<HttpCall>
}

export function httpModel(spec: HttpModelSpec, options: HttpModelOptions): HttpModel {
  const { op, id, keyName } = spec
  if (typeof id !== 'string' || !id.trim())
    throw invalidInput(op, `the first argument of ${op}() must be the name of a model, not ${kindOf(id)}`)
  const provider = options.provider ?? spec.provider
  const url = joinUrl(options.baseURL ?? spec.baseURL, spec.path)
  const urlSecrets = secretsInUrl(url)
  const defaults = settingsOf(options)

  function usableKey(key: string | undefined, headers: Readonly<Record<string, string>>): string | undefined {
    if (key === undefined || key === '') {
      const own = Object.keys(headers).some((name) => /^(authorization|api-key|x-api-key)$/i.test(name))
      if (!spec.needsKey || own) return undefined
      throw keyError(`no API key for ${provider}`)
    }
    // Usually the line break at the end of a file. The error of `fetch` would quote the key.
    if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key))
      throw keyError(
        `the API key for ${provider} has characters that are invalid in a header (a line break, a space?)`,
      )
    return key
  }

  async function callForKey(apiKey: () => string | Promise<string>): Promise<string | undefined> {
    try {
      return await apiKey()
    } catch (thrown) {
      if (thrown instanceof MillraceError) throw thrown
      throw new MillraceError({
        op: 'model.stream',
        code: 'auth',
        message: `the apiKey function of ${provider} threw: ${withoutSecrets(messageOf(thrown), [])}`,
        cause: isSafeToShow(thrown, []) ? thrown : undefined,
      })
    }
  }

  function keyError(problem: string): MillraceError {
    const where = keyName ? `set ${keyName}, or pass apiKey to ${op}()` : `pass apiKey to ${op}()`
    return new MillraceError({ op: 'model.stream', code: 'auth', message: `${problem}: ${where}` })
  }

  return {
    id,
    provider,
    address: new URL(url).origin,
    capabilities: { ...spec.capabilities, ...options.capabilities },
    settings: (request) => mergeSettings(defaults, request),
    async call(body, { settings, signal, wire }) {
      const own = settings.headers ? normalizeHeaders(settings.headers) : {}
      const { apiKey } = options
      const given =
        typeof apiKey === 'function' ? await callForKey(apiKey) : (apiKey ?? fromEnvironment(keyName))
      const key = usableKey(given, own)
      const headers = { ...spec.headers, ...(key !== undefined && spec.keyHeaders(key)), ...own }
      return {
        provider,
        url,
        headers,
        body,
        signal,
        fetch: options.fetch,
        secrets: [
          ...(key === undefined ? [] : [key]),
          ...secretsIn(own),
          ...urlSecrets,
          ...secretsInFields(settings.extra ?? {}),
        ],
        keyName,
        wire,
      }
    },
  }
}

const table: OptionTable<HttpModelOptions> = {
  ...settingsTable,
  apiKey: (value) =>
    typeof value !== 'string' &&
    typeof value !== 'function' &&
    `must be a string or a function, not ${kindOf(value)}`,
  baseURL: addressProblem,
  fetch: aFunction,
  provider: someText,
  capabilities: capabilitiesProblem,
}

/** Throws `invalid_input` naming the option. `more` checks the options that only this API has. */
export function checkHttpOptions<Options extends object>(
  options: Options,
  op: string,
  more: OptionTable<Omit<Options, keyof HttpModelOptions>>,
): void {
  if (!isObject(options as unknown))
    throw invalidInput(op, `the options of ${op}() must be an object, not ${kindOf(options)}`)
  checkOptions(options, { ...table, ...more }, { op, what: `the option of ${op}()` })
}

function settingsOf(options: HttpModelOptions): ModelSettings {
  const entries = Object.entries(options).filter(
    ([key, value]) => Object.hasOwn(settingsTable, key) && value !== undefined,
  )
  return Object.fromEntries(entries)
}

/**
 * `Authorization` and `authorization` are one header: if both were sent, they would be joined into
 * an invalid value. Values are trimmed: the line break at the end of a file is not part of a value.
 */
function normalizeHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()])
  return Object.fromEntries(entries)
}

/** Keeps a query such as Azure's `?api-version=…` at the end. */
function joinUrl(baseURL: string, path: string): string {
  const url = new URL(baseURL)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`
  return url.href
}

function addressProblem(value: unknown): Problem {
  const isValid = typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
  if (!isValid) return 'must be a URL such as https://host/v1'
  const { username, password } = new URL(value)
  return (username || password) && 'must not contain a user name or password: send them in headers'
}

/** Where requests go: the option, else the environment variable, else the default. */
export function baseUrlOf(
  { baseURL }: Pick<HttpModelOptions, 'baseURL'>,
  { op, name, defaultURL }: { readonly op: string; readonly name: string; readonly defaultURL: string },
): { readonly baseURL: string; readonly fromEnvironment: boolean } {
  if (baseURL !== undefined) return { baseURL, fromEnvironment: false }
  const set = fromEnvironment(name)
  const problem = set !== undefined && addressProblem(set)
  if (problem) throw invalidInput(op, `${name} in the environment ${problem}`)
  return { baseURL: set ?? defaultURL, fromEnvironment: set !== undefined }
}

function fromEnvironment(name: string | undefined): string | undefined {
  return name === undefined ? undefined : environment()[name]?.trim() || undefined
}
