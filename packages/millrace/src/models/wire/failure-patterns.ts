/**
 * How each provider reports that the conversation does not fit. A limit on the *answer*
 * (`max_tokens is too large: …`) is a different error, and so is a tool name or description that is
 * too long: those do not match these patterns.
 */
const overflow: readonly RegExp[] = [
  // `context_length_exceeded` (OpenAI's code), `model_context_window_exceeded` (z.ai), `context
  // window exceeds limit` (MiniMax), `Context size has been exceeded` (LM Studio)
  /context[_ ]?(length|window|size|limit)[\w ]*exceed/i,
  // OpenAI: `Your input exceeds the context window of this model`.
  // Anthropic: ``input length and `max_tokens` exceed context limit``. llama.cpp: `request (37312
  // tokens) exceeds the available context size`, `exceed_context_size_error`.
  // Ollama: `prompt too long; exceeded max context length by 4 tokens`
  /exceed\w*[_ ](the |this |model'?s? |max\w* |available )*context/i,
  // OpenAI, DeepSeek, vLLM, OpenRouter: `This model's maximum context length is 8192 tokens.
  // However, you requested …`. xAI: `This model's maximum prompt length is 131072 but the request
  // contains 537812 tokens`.
  // Mistral: `Prompt contains 40000 tokens … too large for model with 32768 maximum context length`
  /maximum (context|prompt) length/i,
  // Anthropic: `prompt is too long: 210000 tokens > 200000 maximum`. Bedrock: `Input is too long
  // for requested model.`
  /prompt (is )?too long|input is too long for/i,
  // Gemini: `The input token count (1200000) exceeds the maximum number of tokens allowed
  // (1048576).`
  /input token count.*exceeds/i,
  // Groq, vLLM: `Please reduce the length of the messages or completion.`
  /reduce the length of the (messages|prompt|input)/i,
  // LM Studio: `The number of tokens to keep from the initial prompt is greater than the context
  // length`, `the model is loaded with context length of only 4096 tokens`, `does not currently
  // support mid-generation context overflow`
  /greater than the context length|context length (of|is) only|context overflow/i,
  // Together: `The input (150000 tokens) is longer than the model's context length (131072
  // tokens).`
  /longer than the model'?s context length/i,
  // Moonshot: `Your request exceeded model token limit: 262144 (requested: 269030)`
  /exceeded model token limit/i,
  // Alibaba: `<400> InternalError.Algo.InvalidParameter: Range of input length should be [1,
  // 98304]`
  /range of input length/i,
  // GitHub Copilot: `prompt token count of 64114 exceeds the limit of 64000`
  /token count of \d+ exceeds/i,
]

export function isContextOverflow(text: string): boolean {
  return overflow.some((pattern) => pattern.test(text))
}

/**
 * No credit or quota is left: waiting does not help.
 * - OpenAI: `You exceeded your current quota, please check your plan and billing details.`,
 *   `Billing hard limit has been reached`
 * - Anthropic (a 400): `Your credit balance is too low to access the Anthropic API. Please go to …`
 * - DeepSeek: `Insufficient Balance`; OpenRouter: `Insufficient credits`, `This request requires
 *   more credits`
 * - Moonshot: `… exceeded current quota, please check your plan and billing details`
 * - xAI: `… has either used all available credits or reached its monthly spending limit`, `…
 *   doesn't have any credits or licenses`
 * - Alibaba: code `Arrearage`
 *
 * `billing` alone is not enough: Groq ends every rate limit with `Upgrade to Dev Tier today at
 * https://console.groq.com/settings/billing`.
 */
export function isOutOfCredit(kinds: string, message: string): boolean {
  return (
    /insufficient_(quota|balance)|exceeded_current_quota|billing_|credit_balance|payment_required|arrearage/i.test(
      kinds,
    ) ||
    /exceeded (your )?current quota|credit balance is too low|insufficient (balance|credit|funds)|(out of|used all available|doesn't have any|requires more) credits|check your (plan and )?billing|billing hard limit|spending limit/i.test(
      message,
    )
  )
}

/**
 * A bad API key, reported with a 400. xAI: `Incorrect API key provided: xa***cd. You can obtain an
 * API key from …`. Gemini: `API key not valid. Please pass a valid API key.`
 */
export function isBadKey(message: string): boolean {
  return /(incorrect|invalid|missing|no) api[ -]key|api key not valid/i.test(message)
}

/**
 * A single request is larger than the limit per minute. OpenAI, with a 429: `Request too large for
 * gpt-4o in organization … on tokens per min (TPM): Limit 30000, Requested 30601.` Groq sends it
 * with a 413.
 */
export function exceedsRateLimit(message: string): boolean {
  return /request too large for/i.test(message)
}
