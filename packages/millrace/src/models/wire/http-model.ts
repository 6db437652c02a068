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
import type { Fetch } from './http-answer.ts'
import { isHarmless, secretsIn, secretsInUrl, secretsWithin, withoutSecrets } from './secrets.ts'

/** What every model over HTTP can be told; settings are defaults for every call, and those of a call lie over them. */
export interface HttpModelOptions<Extra = JsonObject> extends Omit<ModelSettings, 'extra'> {
  /** The key, or where to get one for each request. Otherwise it is read from the environment. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  readonly baseURL?: string | undefined
  /** Instead of the global one: through a proxy, with another agent, signed. */
  readonly fetch?: Fetch | undefined
  /** Stands in events and errors, and decides who gets back opaque data. Known by the address otherwise. */
  readonly provider?: string | undefined
  readonly capabilities?: Partial<ModelCapabilities> | undefined
  /** Fields of the provider's own request, sent as they are. */
  readonly extra?: Extra | undefined
}

/** What one wire brings. */
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

/** What is the same for all models over HTTP: who it is, what it can do, its settings, and how a request is addressed. */
export interface HttpModel extends Omit<Model, 'stream'> {
  readonly settings: (request: ModelSettings) => ModelSettings
  /** Gets the key, and makes a call that can be sent. Throws `auth` if there is no key. */
  readonly call: (
    body: JsonObject,
    options: StreamOptions & { readonly settings: ModelSettings },
  ) => Promise<HttpCall>
}

export function httpModel(spec: HttpModelSpec, options: HttpModelOptions): HttpModel {
  const { op, id, keyName } = spec
  if (typeof id !== 'string' || !id.trim())
    throw invalidInput(op, `${op}() takes the name of a model first, not ${kindOf(id)}`)
  const provider = options.provider ?? spec.provider
  const url = address(options.baseURL ?? spec.baseURL, spec.path)
  const urlSecrets = secretsInUrl(url)
  const defaults = settingsOf(options)

  async function keyOf(headers: Readonly<Record<string, string>>): Promise<string | undefined> {
    const key = await givenKey()
    if (key === undefined || key === '') {
      const own = Object.keys(headers).some((name) => /^(authorization|api-key|x-api-key)$/i.test(name))
      if (!spec.needsKey || own) return undefined
      throw noKey(`there is no API key for ${provider}`)
    }
    // A line break at the end of a file, most often. fetch would refuse it in words that quote the key.
    if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key))
      throw noKey(
        `the API key for ${provider} has characters that no header can carry (a line break, a space?)`,
      )
    return key
  }

  async function givenKey(): Promise<string | undefined> {
    const { apiKey } = options
    if (typeof apiKey !== 'function') return apiKey ?? fromEnvironment(keyName)
    try {
      return await apiKey()
    } catch (thrown) {
      if (thrown instanceof MillraceError) throw thrown
      throw new MillraceError({
        op: 'model.stream',
        code: 'auth',
        message: `the apiKey function of ${provider} threw: ${withoutSecrets(messageOf(thrown), [])}`,
        cause: isHarmless(thrown, []) ? thrown : undefined,
      })
    }
  }

  function noKey(problem: string): MillraceError {
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
      const own = plainHeaders(settings.headers ?? {})
      const key = await keyOf(own)
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
          ...secretsWithin(settings.extra ?? {}),
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
    `must be text or a function, not ${kindOf(value)}`,
  baseURL: addressProblem,
  fetch: aFunction,
  provider: someText,
  capabilities: capabilitiesProblem,
}

/** Throws `invalid_input` naming the option. `more` are those that only one wire has. */
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
  const given = Object.entries(options).filter(
    ([key, value]) => Object.hasOwn(settingsTable, key) && value !== undefined,
  )
  return Object.fromEntries(given)
}

/**
 * `Authorization` and `authorization` are one header: sent both, they would be joined into one value that nobody takes. A line break
 * at the end, of a file most often, is no part of a value.
 */
function plainHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()])
  return Object.fromEntries(entries)
}

/** A query, such as Azure's `?api-version=…`, stays at the end. */
function address(baseURL: string, path: string): string {
  const url = new URL(baseURL)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`
  return url.href
}

function addressProblem(value: unknown): Problem {
  const sound = typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
  if (!sound) return 'must be an address such as https://host/v1'
  const { username, password } = new URL(value)
  return (username || password) && 'must hold no user name and no password: send them in headers'
}

/** Where requests go: as told, or as the environment says, or to the usual place. */
export function baseUrlOf(
  { baseURL }: Pick<HttpModelOptions, 'baseURL'>,
  { op, name, usual }: { readonly op: string; readonly name: string; readonly usual: string },
): { readonly baseURL: string; readonly fromEnvironment: boolean } {
  if (baseURL !== undefined) return { baseURL, fromEnvironment: false }
  const set = fromEnvironment(name)
  const problem = set !== undefined && addressProblem(set)
  if (problem) throw invalidInput(op, `${name} in the environment ${problem}`)
  return { baseURL: set ?? usual, fromEnvironment: set !== undefined }
}

function fromEnvironment(name: string | undefined): string | undefined {
  return name === undefined ? undefined : environment()[name]?.trim() || undefined
}
