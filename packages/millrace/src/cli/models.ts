import type { DetectOptions } from '../models/index.ts'
import { detectModel } from '../models/index.ts'
import type { OpenAIChatOptions } from '../models/openai.ts'
import type { Model } from '../protocol/index.ts'
import { closest, invalidInput, MillraceError, textOf } from '../protocol/index.ts'

type Environment = NonNullable<DetectOptions['env']>

export interface NamedModel {
  readonly model: Model
  /** Why this model was chosen. Absent if the user named it. */
  readonly why?: string
}

const op = 'millrace'

/** Providers of Chat Completions, with their URLs. Each reads its own key from the environment. */
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
 * Opens the model named by `--model` or MILLRACE_MODEL: `provider/name`, `http://host/v1#name`,
 * `simulator`, or a bare name for the detected provider. Without a name, uses the model that
 * `detectModel()` finds. Throws `invalid_input` on an invalid name, and `auth` if no model is found.
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
  if (/^https?:/i.test(name)) return { model: await fromUrl(name) }
  const slash = name.indexOf('/')
  if (slash < 0) return fromBareName(name, { env, ...options })
  return { model: await fromProvider(name.slice(0, slash), name.slice(slash + 1), env) }
}

// Each wire format is loaded only if it is used.
const anthropic = async (id: string) => (await import('../models/anthropic.ts')).anthropic(id)
const openai = async (id: string) => (await import('../models/openai.ts')).openai(id)
const openaiChat = async (id: string, options: OpenAIChatOptions = {}) =>
  (await import('../models/openai.ts')).openaiChat(id, options)

async function fromProvider(provider: string, id: string, env: Environment): Promise<Model> {
  if (!id) throw invalidInput(op, `--model ${provider}/ has no model name: use ${provider}/NAME`)
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
    `unknown provider '${provider}' in --model${like ? ` (did you mean '${like}'?)` : ''}: ` +
      `use one of ${names.join(', ')}, or a URL such as http://host:8000/v1#NAME`,
  )
}

/** The model name follows a `#`, since both the URL and the name may contain slashes. */
async function fromUrl(name: string): Promise<Model> {
  const [baseURL = '', id] = name.split('#', 2)
  if (!id) throw invalidInput(op, `--model ${name} has no model name: add it after a #, as in ${name}#NAME`)
  return openaiChat(id, { baseURL })
}

async function fromBareName(name: string, options: DetectOptions): Promise<NamedModel> {
  if (/^claude-/.test(name)) return { model: await anthropic(name) }
  if (/^(gpt-\d|o\d)/.test(name)) return { model: await openai(name) }
  const { model, why } = await detectModel({ ...options, model: name })
  if (!model) throw noModel(why)
  return { model, why }
}

/** OLLAMA_HOST is Ollama's own variable: `0.0.0.0:11434`, `box`, or a full URL. */
function ollamaAddress({ OLLAMA_HOST }: Environment): string {
  const host = OLLAMA_HOST?.trim() || '127.0.0.1:11434'
  const address = /^https?:\/\//.test(host) ? host : `http://${host}`
  if (!URL.canParse(address)) throw invalidInput(op, 'OLLAMA_HOST is not a valid address')
  const url = new URL(address)
  if (!/:\d+\/?$|^https?:/.test(host)) url.port = '11434'
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  return `${url.origin}/v1`
}

function noModel(why: string): MillraceError {
  const message = [
    why,
    'Set one of these keys, start Ollama, or name a model with --model.',
    'To try it without a model: millrace --model simulator "hello", or npm start in a checkout.',
  ].join('\n')
  return new MillraceError({ op, code: 'auth', message })
}

/** Answers without a key or a server, and says that it is a simulator. */
async function simulator(): Promise<Model> {
  const { scriptedModel } = await import('../testing/index.ts')
  return scriptedModel(
    ({ messages }) => {
      const question = messages.findLast(({ role }) => role === 'user')
      const text = (question ? textOf(question) : '').replace(/\s+/g, ' ').trim()
      return `I am only a simulator: no model has read this. You said: ${text.slice(0, 200)}`
    },
    {
      id: 'simulator',
      deltaChars: [3, 5, 2, 4],
      paceMs: 15,
      price: { input: 1, output: 4, cacheRead: 0.1 },
      simulated: true,
    },
  )
}
