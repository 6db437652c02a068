import type { JsonObject, ModelSettings } from '../../protocol/index.ts'
import type { IdRule } from '../wire/call-ids.ts'

type Effort = NonNullable<ModelSettings['reasoning']>

/** How one provider differs from the rest, in what it is sent. */
export interface Dialect {
  readonly provider: string
  /** The variable that holds the key. Without one, no key of the environment is sent: it would be somebody else's. */
  readonly keyName?: string
  readonly needsKey: boolean
  readonly keyHeader: 'authorization' | 'api-key'
  /** OpenAI's newer models refuse `max_tokens`; hardly anybody else knows `max_completion_tokens`. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens'
  /** Whether usage has to be asked for, and may be: Mistral refuses fields that it does not know. */
  readonly asksForUsage: boolean
  readonly ids: IdRule
  readonly reasoning: (effort: Effort) => JsonObject
  /** Takes files in the user's messages. */
  readonly files: boolean
  readonly seed: 'seed' | 'random_seed'
  /** Takes a schema for its answer. Others are asked for one in words. */
  readonly structuredOutput: boolean
  /** `Unexpected role 'user' after role 'tool'`: the assistant has to say something in between. */
  readonly answersTools: boolean
  /**
   * Stands for the reasoning that a message with calls must have, where there is none: it was made without, or elsewhere.
   * ``Missing `reasoning_content` field in the assistant message at message index 2`` (DeepSeek), `thinking is enabled but
   * reasoning_content is missing in assistant tool call message at index 2` (Moonshot, which takes an empty one for missing).
   */
  readonly noReasoning?: string
}

const plain: Omit<Dialect, 'provider'> = {
  needsKey: true,
  keyHeader: 'authorization',
  maxTokens: 'max_tokens',
  asksForUsage: true,
  ids: { fits: /^[\w.:-]{1,40}$/, make: (token) => `call_${token}` },
  reasoning: (effort) => ({ reasoning_effort: effort }),
  files: false,
  seed: 'seed',
  structuredOutput: true,
  answersTools: false,
}

const local = { ...plain, needsKey: false }

const thinking = (effort: Effort): JsonObject => ({
  thinking: { type: effort === 'none' ? 'disabled' : 'enabled' },
})

const known: readonly (Dialect & { readonly host: RegExp })[] = [
  {
    ...plain,
    host: /(^|\.)openai\.com$/,
    provider: 'openai',
    keyName: 'OPENAI_API_KEY',
    maxTokens: 'max_completion_tokens',
    files: true,
  },
  {
    ...plain,
    host: /\.(openai|cognitiveservices|ai)\.azure\.com$/,
    provider: 'azure',
    keyName: 'AZURE_OPENAI_API_KEY',
    keyHeader: 'api-key',
    maxTokens: 'max_completion_tokens',
    files: true,
  },
  { ...plain, host: /(^|\.)groq\.com$/, provider: 'groq', keyName: 'GROQ_API_KEY' },
  {
    ...plain,
    host: /(^|\.)deepseek\.com$/,
    provider: 'deepseek',
    keyName: 'DEEPSEEK_API_KEY',
    reasoning: thinking,
    // `This response_format type is unavailable now`
    structuredOutput: false,
    noReasoning: '',
  },
  {
    ...plain,
    host: /(^|\.)mistral\.ai$/,
    provider: 'mistral',
    keyName: 'MISTRAL_API_KEY',
    asksForUsage: false,
    // `Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.`
    ids: { fits: /^[a-zA-Z0-9]{9}$/, make: (token) => token },
    // `high` and `none` are all it knows, and most of its models know neither.
    reasoning: (effort) => (effort === 'none' ? {} : { reasoning_effort: 'high' }),
    seed: 'random_seed',
    answersTools: true,
  },
  { ...plain, host: /(^|\.)x\.ai$/, provider: 'xai', keyName: 'XAI_API_KEY' },
  {
    ...plain,
    host: /(^dashscope[\w-]*|\.maas)\.aliyuncs\.com$/,
    provider: 'alibaba',
    keyName: 'DASHSCOPE_API_KEY',
    reasoning: (effort) => ({ enable_thinking: effort !== 'none' }),
  },
  {
    ...plain,
    host: /(^|\.)moonshot\.(ai|cn)$/,
    provider: 'moonshot',
    keyName: 'MOONSHOT_API_KEY',
    reasoning: thinking,
    noReasoning: ' ',
  },
  {
    ...plain,
    host: /(^|\.)openrouter\.ai$/,
    provider: 'openrouter',
    keyName: 'OPENROUTER_API_KEY',
    reasoning: (effort) => ({ reasoning: { effort } }),
    files: true,
  },
  {
    ...plain,
    host: /^generativelanguage\.googleapis\.com$/,
    provider: 'gemini',
    keyName: 'GEMINI_API_KEY',
  },
]

/** Local servers, known by the port they use unless told otherwise. */
const localPorts: Readonly<Record<string, string>> = {
  11434: 'ollama',
  1234: 'lmstudio',
  8000: 'vllm',
  8080: 'llamacpp',
}

/** The provider behind an address; one that is not known is taken for a plain one that may or may not want a key. */
export function dialectOf(baseURL: string): Dialect {
  const { hostname, port, host } = new URL(baseURL)
  const dialect = known.find((one) => one.host.test(hostname))
  if (dialect) return dialect
  if (/^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0|host\.docker\.internal)$/.test(hostname))
    return { ...local, provider: localPorts[port] ?? 'local' }
  return { ...local, provider: host }
}
