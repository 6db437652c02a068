import type { Model, OptionTable, Problem } from '../protocol/index.ts'
import {
  aFunction,
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  messageOf,
  someText,
} from '../protocol/index.ts'
import type { Environment } from './wire/environment.ts'
import { environment } from './wire/environment.ts'
import type { Fetch } from './wire/http-response.ts'

export interface DetectOptions {
  /** The name of the model to use, whichever provider is found. */
  readonly model?: string | undefined
  /** Where to look for keys, instead of `process.env`. */
  readonly env?: Environment | undefined
  /** How long to wait for a local server (ms, default 200). */
  readonly timeoutMs?: number | undefined
  /** Sends all requests: to look for local servers, and those of the model. */
  readonly fetch?: Fetch | undefined
  /**
   * Addresses of local servers instead of the default ones: `{ ollama: 'http://box:11434' }`. An
   * empty object skips local servers.
   */
  readonly local?: Readonly<Record<string, string>> | undefined
}

/** `why` is one sentence for people: what was chosen and why, or what was tried and not found. */
export type Detected =
  | { readonly model: Model; readonly why: string }
  | { readonly model?: undefined; readonly why: string }

interface Provider {
  readonly key: string
  readonly name: string
  /** The default model. */
  readonly model: string
  readonly baseURL?: string
}

/** In order of preference. */
const providers: readonly Provider[] = [
  { key: 'ANTHROPIC_API_KEY', name: 'anthropic', model: 'claude-sonnet-5-5' },
  { key: 'OPENAI_API_KEY', name: 'openai', model: 'gpt-5.4-mini' },
  {
    key: 'GEMINI_API_KEY',
    name: 'gemini',
    model: 'gemini-3.8-flash',
    baseURL: 'https://generativelanguage.googleapis.com/v1beta/openai',
  },
  {
    key: 'MISTRAL_API_KEY',
    name: 'mistral',
    model: 'mistral-medium-latest',
    baseURL: 'https://api.mistral.ai/v1',
  },
  { key: 'XAI_API_KEY', name: 'xai', model: 'grok-4', baseURL: 'https://api.x.ai/v1' },
  {
    key: 'DEEPSEEK_API_KEY',
    name: 'deepseek',
    model: 'deepseek-chat',
    baseURL: 'https://api.deepseek.com/v1',
  },
  {
    key: 'GROQ_API_KEY',
    name: 'groq',
    model: 'openai/gpt-oss-120b',
    baseURL: 'https://api.groq.com/openai/v1',
  },
  { key: 'MOONSHOT_API_KEY', name: 'moonshot', model: 'kimi-latest', baseURL: 'https://api.moonshot.ai/v1' },
  {
    key: 'DASHSCOPE_API_KEY',
    name: 'alibaba',
    model: 'qwen-plus',
    baseURL: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  },
  {
    key: 'OPENROUTER_API_KEY',
    name: 'openrouter',
    model: 'openrouter/auto',
    baseURL: 'https://openrouter.ai/api/v1',
  },
]

const defaultAddresses = {
  ollama: 'http://127.0.0.1:11434',
  lmstudio: 'http://127.0.0.1:1234',
  llamacpp: 'http://127.0.0.1:8080',
}

/**
 * Finds a model that can be used right away: by the keys in the environment, else by the local
 * servers that respond (Ollama, LM Studio, llama.cpp). If there is neither, the result has no
 * model, and `why` says what was tried. Throws `invalid_input` on bad options.
 */
export async function detectModel(options: DetectOptions = {}): Promise<Detected> {
  if (!isObject(options as unknown))
    throw invalidInput(
      'detectModel',
      `the options of detectModel() must be an object, not ${kindOf(options)}`,
    )
  checkOptions(options, table, { op: 'detectModel', what: 'the option of detectModel()' })
  const { env = environment(), timeoutMs = 200 } = options
  const provider = providers.find(({ key }) => textOf(env[key]) !== undefined)
  if (provider) {
    const name = options.model ?? provider.model
    try {
      const model = await openProvider(provider, name, { env, fetch: options.fetch })
      return { model, why: `${provider.name} with ${name}, because ${provider.key} is set` }
    } catch (error) {
      return { why: `${provider.name} cannot be used, though ${provider.key} is set: ${messageOf(error)}` }
    }
  }

  const serverAddresses = Object.entries(options.local ?? { ...defaultAddresses, ...ollamaHost(env) })
  const found = await Promise.all(
    serverAddresses.map(async ([name, address]) => {
      const url = address.replace(/\/+$/, '')
      return { name, url, models: await modelsAt(url, { fetch: options.fetch, timeoutMs }) }
    }),
  )
  for (const { name, url, models } of found) {
    const id = options.model ?? models?.[0]
    if (!models || id === undefined) continue
    const { openaiChat } = await import('./openai.ts')
    const model = openaiChat(id, { baseURL: `${url}/v1`, provider: name, fetch: options.fetch })
    return { model, why: `${name} with ${id}, because no key is set and it answers at ${url}` }
  }
  const keys = providers.map(({ key }) => key).join(', ')
  const servers = found.map(({ name, url, models }) => `${name} at ${url}${models ? ' (has no model)' : ''}`)
  return {
    why: `no model found: none of ${keys} is set, and no local server answers${servers.length > 0 ? ` (${servers.join(', ')})` : ''}`,
  }
}

const addressesProblem = (value: unknown): Problem => {
  if (!isObject(value)) return `must be an object of addresses, not ${kindOf(value)}`
  const isAddress = (url: unknown) =>
    typeof url === 'string' && /^https?:\/\/[^@]+$/.test(url) && URL.canParse(url)
  const bad = Object.values(value).find((url) => !isAddress(url))
  return bad !== undefined && 'must hold addresses such as http://127.0.0.1:11434'
}

const table: OptionTable<DetectOptions> = {
  model: someText,
  env: (value) => !isObject(value) && `must be an object, not ${kindOf(value)}`,
  timeoutMs: duration,
  fetch: aFunction,
  local: addressesProblem,
}

/** Provider modules are loaded on demand. */
async function openProvider(
  { key, name, baseURL }: Provider,
  id: string,
  { env, fetch }: { readonly env: Environment; readonly fetch: Fetch | undefined },
): Promise<Model> {
  const apiKey = textOf(env[key]) as string
  if (name === 'anthropic') {
    const { anthropic } = await import('./anthropic.ts')
    const address = textOf(env.ANTHROPIC_BASE_URL) ?? 'https://api.anthropic.com'
    return anthropic(id, { apiKey, baseURL: address, fetch })
  }
  const { openai, openaiChat } = await import('./openai.ts')
  if (baseURL !== undefined) return openaiChat(id, { apiKey, baseURL, fetch })
  return openai(id, { apiKey, baseURL: textOf(env.OPENAI_BASE_URL) ?? 'https://api.openai.com/v1', fetch })
}

function textOf(value: unknown): string | undefined {
  return (typeof value === 'string' && value.trim()) || undefined
}

/** `OLLAMA_HOST` may be `0.0.0.0:11434`, `box`, or a full URL. */
function ollamaHost({ OLLAMA_HOST }: Environment): { ollama?: string } {
  const host = textOf(OLLAMA_HOST)
  if (host === undefined) return {}
  const address = /^https?:\/\//.test(host) ? host : `http://${host}`
  if (!URL.canParse(address)) return {}
  const url = new URL(address)
  if (!/:\d+$|^https?:/.test(host)) url.port = '11434'
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  return { ollama: url.origin }
}

/**
 * The models of a server, without embedding models. Undefined if the server does not respond or is
 * not an OpenAI-compatible one.
 */
async function modelsAt(
  url: string,
  { fetch, timeoutMs }: { readonly fetch: Fetch | undefined; readonly timeoutMs: number },
): Promise<string[] | undefined> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const { send, readBody } = await import('./wire/send.ts')
    const response = await send({ url: `${url}/v1/models`, headers: {}, body: undefined, signal }, fetch)
    const body: unknown = JSON.parse(await readBody(response))
    // Anything may listen on these ports: only a list of models counts.
    if (response.status !== 200 || !isObject(body) || body.object !== 'list') return undefined
    const list = Array.isArray(body.data) ? body.data : []
    return list
      .map((model: unknown) => (isObject(model) && typeof model.id === 'string' ? model.id : ''))
      .filter((id) => id !== '' && !/embed/i.test(id))
  } catch {
    return undefined
  }
}
