import type { DetectOptions } from '../models/index.ts'
import { detectModel } from '../models/index.ts'
import type { OpenAIChatOptions } from '../models/openai.ts'
import type { Model } from '../protocol/index.ts'
import { closest, invalidInput, MillraceError, textOf } from '../protocol/index.ts'

type Environment = NonNullable<DetectOptions['env']>

export interface NamedModel {
  readonly model: Model
  /** Why it is this one, for people; absent if they named it themselves. */
  readonly why?: string
}

const op = 'millrace'

/** Those that speak Chat Completions, and where. Each gets its own key from the environment. */
const compatible: Readonly<Record<string, string>> = {
  gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
  mistral: 'https://api.mistral.ai/v1',
  xai: 'https://api.x.ai/v1',
  deepseek: 'https://api.deepseek.com/v1',
  groq: 'https://api.groq.com/openai/v1',
  moonshot: 'https://api.moonshot.ai/v1',
  alibaba: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  openrouter: 'https://openrouter.ai/api/v1',
  lmstudio: 'http://127.0.0.1:1234/v1',
  llamacpp: 'http://127.0.0.1:8080/v1',
}

/**
 * The model that `--model`, or MILLRACE_MODEL, names: `provider/name`, `http://host/v1#name`, `simulator`, or a bare name for
 * whoever is found. Without a name it is what `detectModel()` finds. Throws `invalid_input` on a name that cannot be meant, and
 * `auth` if there is nothing to be found.
 */
export async function openModel(
  given: string | undefined,
  { env = process.env, ...options }: DetectOptions = {},
): Promise<NamedModel> {
  const name = (given ?? env.MILLRACE_MODEL)?.trim()
  if (!name) {
    const { model, why } = await detectModel({ env, ...options })
    if (!model) throw noModel(why)
    return { model, why }
  }
  if (name === 'simulator') return { model: await simulator() }
  if (/^https?:/i.test(name)) return { model: await atAddress(name) }
  const slash = name.indexOf('/')
  if (slash < 0) return bareName(name, { env, ...options })
  return { model: await ofProvider(name.slice(0, slash), name.slice(slash + 1), env) }
}

// Wires are loaded only when one is chosen.
const anthropic = async (id: string) => (await import('../models/anthropic.ts')).anthropic(id)
const openai = async (id: string) => (await import('../models/openai.ts')).openai(id)
const openaiChat = async (id: string, options: OpenAIChatOptions = {}) =>
  (await import('../models/openai.ts')).openaiChat(id, options)

async function ofProvider(provider: string, id: string, env: Environment): Promise<Model> {
  if (!id) throw invalidInput(op, `--model ${provider}/ names no model: ${provider}/NAME`)
  switch (provider) {
    case 'anthropic':
      return anthropic(id)
    case 'openai':
      return openai(id)
    case 'openai-chat':
      return openaiChat(id)
    case 'ollama':
      return openaiChat(id, { baseURL: ollamaAddress(env), provider })
  }
  const baseURL = Object.hasOwn(compatible, provider) ? compatible[provider] : undefined
  if (baseURL !== undefined) return openaiChat(id, { baseURL })
  const names = ['anthropic', 'openai', 'openai-chat', 'ollama', ...Object.keys(compatible)]
  const like = closest(provider, names)
  throw invalidInput(
    op,
    `--model names the provider '${provider}', which is not known${like ? ` (did you mean '${like}'?)` : ''}: ` +
      `use one of ${names.join(', ')}, or an address as in http://host:8000/v1#NAME`,
  )
}

/** The name of the model stands behind a `#`, since both may have slashes in them. */
async function atAddress(name: string): Promise<Model> {
  const [baseURL = '', id] = name.split('#', 2)
  if (!id) throw invalidInput(op, `--model ${name} names no model: put it behind a #, as in ${name}#NAME`)
  return openaiChat(id, { baseURL })
}

async function bareName(name: string, options: DetectOptions): Promise<NamedModel> {
  if (/^claude-/.test(name)) return { model: await anthropic(name) }
  if (/^(gpt-\d|o\d)/.test(name)) return { model: await openai(name) }
  const { model, why } = await detectModel({ ...options, model: name })
  if (!model) throw noModel(why)
  return { model, why }
}

/** Ollama's own variable: `0.0.0.0:11434`, `box`, or a whole address. */
function ollamaAddress({ OLLAMA_HOST }: Environment): string {
  const host = OLLAMA_HOST?.trim() || '127.0.0.1:11434'
  const address = /^https?:\/\//.test(host) ? host : `http://${host}`
  if (!URL.canParse(address)) throw invalidInput(op, 'OLLAMA_HOST in the environment is no address')
  const url = new URL(address)
  if (!/:\d+\/?$|^https?:/.test(host)) url.port = '11434'
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  return `${url.origin}/v1`
}

function noModel(why: string): MillraceError {
  const message = [
    why,
    'Set one of these keys, start Ollama, or name a model with --model.',
    'To try it without any: millrace --model simulator "hello", or npm start in a checkout.',
  ].join('\n')
  return new MillraceError({ op, code: 'auth', message })
}

/** Stands in where there is neither key nor server, and says so. */
async function simulator(): Promise<Model> {
  const { scriptedModel } = await import('../testing/index.ts')
  return scriptedModel(
    ({ messages }) => {
      const asked = messages.findLast(({ role }) => role === 'user')
      const words = (asked ? textOf(asked) : '').replace(/\s+/g, ' ').trim()
      return `I am only a simulator: no model has read this. You said: ${words.slice(0, 200)}`
    },
    { id: 'simulator', deltaChars: [3, 5, 2, 4], paceMs: 15 },
  )
}
