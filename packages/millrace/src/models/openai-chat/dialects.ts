import type { JsonObject, ModelSettings } from '../../protocol/index.ts'
import type { IdFormat } from '../wire/call-ids.ts'

type Effort = NonNullable<ModelSettings['reasoning']>

/** How the requests to one provider differ from the rest. */
export interface Dialect {
  readonly provider: string
  /**
   * The environment variable of the key. Without one, no key from the environment is sent: it would
   * belong to another provider.
   */
  readonly keyName?: string
  readonly needsKey: boolean
  readonly keyHeader: 'authorization' | 'api-key'
  /**
   * OpenAI's newer models reject `max_tokens`; few other providers accept `max_completion_tokens`.
   */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens'
  /** Whether to send `include_usage`: Mistral rejects unknown fields. */
  readonly asksForUsage: boolean
  readonly ids: IdFormat
  readonly reasoning: (effort: Effort) => JsonObject
  /** Supports files in user messages. */
  readonly files: boolean
  readonly seed: 'seed' | 'random_seed'
  /** Supports a schema for the answer. For others, the prompt asks for it. */
  readonly structuredOutput: boolean
  /**
   * Requires an assistant message between tool results and a user message: `Unexpected role 'user'
   * after role 'tool'`.
   */
  readonly replyAfterTools: boolean
  /**
   * Sent as the required reasoning of a message with calls that has none, because it was generated
   * without reasoning or by another provider. ``Missing `reasoning_content` field in the assistant
   * message at message index 2`` (DeepSeek), `thinking is enabled but reasoning_content is missing
   * in assistant tool call message at index 2` (Moonshot, which treats an empty one as missing).
   */
  readonly reasoningPlaceholder?: string
}

const defaults: Omit<Dialect, 'provider'> = {
  needsKey: true,
  keyHeader: 'authorization',
  maxTokens: 'max_tokens',
  asksForUsage: true,
  ids: { pattern: /^[\w.:-]{1,40}$/, create: (token) => `call_${token}` },
  reasoning: (effort) => ({ reasoning_effort: effort }),
  files: false,
  seed: 'seed',
  structuredOutput: true,
  replyAfterTools: false,
}

const local = { ...defaults, needsKey: false }

const thinking = (effort: Effort): JsonObject => ({
  thinking: { type: effort === 'none' ? 'disabled' : 'enabled' },
})

const known: readonly (Dialect & { readonly host: RegExp })[] = [
  {
    ...defaults,
    host: /(^|\.)openai\.com$/,
    provider: 'openai',
    keyName: 'OPENAI_API_KEY',
    maxTokens: 'max_completion_tokens',
    files: true,
  },
  {
    ...defaults,
    host: /\.(openai|cognitiveservices|ai)\.azure\.com$/,
    provider: 'azure',
    keyName: 'AZURE_OPENAI_API_KEY',
    keyHeader: 'api-key',
    maxTokens: 'max_completion_tokens',
    files: true,
  },
  { ...defaults, host: /(^|\.)groq\.com$/, provider: 'groq', keyName: 'GROQ_API_KEY' },
  {
    ...defaults,
    host: /(^|\.)deepseek\.com$/,
    provider: 'deepseek',
    keyName: 'DEEPSEEK_API_KEY',
    reasoning: thinking,
    // `This response_format type is unavailable now`
    structuredOutput: false,
    reasoningPlaceholder: '',
  },
  {
    ...defaults,
    host: /(^|\.)mistral\.ai$/,
    provider: 'mistral',
    keyName: 'MISTRAL_API_KEY',
    asksForUsage: false,
    // `Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.`
    ids: { pattern: /^[a-zA-Z0-9]{9}$/, create: (token) => token },
    // Only `high` and `none` exist, and most of its models support neither.
    reasoning: (effort) => (effort === 'none' ? {} : { reasoning_effort: 'high' }),
    seed: 'random_seed',
    replyAfterTools: true,
  },
  { ...defaults, host: /(^|\.)x\.ai$/, provider: 'xai', keyName: 'XAI_API_KEY' },
  {
    ...defaults,
    host: /(^dashscope[\w-]*|\.maas)\.aliyuncs\.com$/,
    provider: 'alibaba',
    keyName: 'DASHSCOPE_API_KEY',
    reasoning: (effort) => ({ enable_thinking: effort !== 'none' }),
  },
  {
    ...defaults,
    host: /(^|\.)moonshot\.(ai|cn)$/,
    provider: 'moonshot',
    keyName: 'MOONSHOT_API_KEY',
    reasoning: thinking,
    reasoningPlaceholder: ' ',
  },
  {
    ...defaults,
    host: /(^|\.)openrouter\.ai$/,
    provider: 'openrouter',
    keyName: 'OPENROUTER_API_KEY',
    reasoning: (effort) => ({ reasoning: { effort } }),
    files: true,
  },
  {
    ...defaults,
    host: /^generativelanguage\.googleapis\.com$/,
    provider: 'gemini',
    keyName: 'GEMINI_API_KEY',
  },
]

/** Local servers, recognized by their default port. */
const localPorts: Readonly<Record<string, string>> = {
  11434: 'ollama',
  1234: 'lmstudio',
  8000: 'vllm',
  8080: 'llamacpp',
}

/** The provider at an address. An unknown one gets the defaults, and its key is optional. */
export function dialectOf(baseURL: string): Dialect {
  const { hostname, port, host } = new URL(baseURL)
  const dialect = known.find((one) => one.host.test(hostname))
  if (dialect) return dialect
  if (/^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0|host\.docker\.internal)$/.test(hostname))
    return { ...local, provider: localPorts[port] ?? 'local' }
  return { ...local, provider: host }
}
