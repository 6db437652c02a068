import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { MillraceError } from '../../protocol/index.ts'
import { failureOf } from './failures.ts'

interface Expected {
  readonly code: string
  readonly retryable: boolean
  readonly says?: string | RegExp
  readonly retryAfterMs?: number
  /** If it differs from the HTTP status. */
  readonly status?: number
}

type Case = readonly [who: string, status: number | undefined, body: unknown, expected: Expected]

const overflow = { code: 'context_overflow', retryable: false } as const
const auth = { code: 'auth', retryable: false } as const
const rateLimited = { code: 'rate_limit', retryable: true } as const
const outOfCredit = { code: 'rate_limit', retryable: false } as const
const busy = { code: 'overloaded', retryable: true } as const
const badRequest = { code: 'llm_error', retryable: false } as const
const providerError = { code: 'llm_error', retryable: true } as const
const timedOut = { code: 'timeout', retryable: true } as const

const openai = (message: string, code: string | null = null, type = 'invalid_request_error') => ({
  error: { message, type, param: null, code },
})
const claude = (type: string, message: string) => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_011CbrFTcXhtiMzr3s6EocF7',
})
const gemini = (code: number, status: string, message: string, ...details: object[]) => [
  { error: { code, message, status, details } },
]

function check([, status, body, expected]: Case, text: boolean) {
  const error = failureOf({ provider: 'them', status, body: text ? JSON.stringify(body) : body })
  const { says = '', retryAfterMs, ...rest } = expected
  expect(error).toMatchObject({ op: 'model.stream', status, retryAfterMs, ...rest })
  expect(error.message).toMatch(says)
}

const tooLong: readonly Case[] = [
  [
    'OpenAI',
    400,
    openai(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8780 tokens. Please reduce the length of the messages.",
      'context_length_exceeded',
    ),
    { ...overflow, says: /maximum context length is 8192.*shorten the conversation/s },
  ],
  ['OpenAI, by its code alone', 400, openai('Your input is too much.', 'context_length_exceeded'), overflow],
  [
    'OpenAI Responses',
    400,
    openai('Your input exceeds the context window of this model. Please adjust your input and try again.'),
    overflow,
  ],
  [
    'Anthropic',
    400,
    claude('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
    overflow,
  ],
  [
    'Anthropic, including max_tokens',
    400,
    claude(
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    ),
    overflow,
  ],
  [
    'Anthropic, too many bytes',
    413,
    claude('request_too_large', 'Request exceeds the maximum size'),
    overflow,
  ],
  [
    'Gemini',
    400,
    gemini(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    ),
    overflow,
  ],
  [
    'Groq',
    400,
    openai('Please reduce the length of the messages or completion.', 'context_length_exceeded'),
    overflow,
  ],
  [
    'Groq, more than the limit per minute',
    413,
    openai(
      'Request too large for model `llama-3.3-70b-versatile` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing',
      'rate_limit_exceeded',
      'tokens',
    ),
    overflow,
  ],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message:
        'Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_prompt',
      param: null,
      code: '3051',
    },
    overflow,
  ],
  [
    'DeepSeek',
    400,
    openai(
      "This model's maximum context length is 65536 tokens. However, you requested 70103 tokens (62103 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.",
      'invalid_request_error',
    ),
    overflow,
  ],
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
    { ...overflow, says: 'maximum prompt length is 131072' },
  ],
  [
    'OpenRouter',
    400,
    {
      error: {
        message:
          'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 150000 tokens (140000 of text input, 10000 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
        code: 400,
        metadata: { provider_name: null },
      },
    },
    overflow,
  ],
  [
    'OpenRouter, with the upstream message',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}',
          provider_name: 'Anthropic',
        },
      },
      user_id: 'user_1',
    },
    { ...overflow, says: 'Provider returned error: prompt is too long: 210000' },
  ],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message:
        "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion). Please reduce the length of the messages or completion.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    overflow,
  ],
  [
    'vLLM of late',
    400,
    {
      error: {
        message:
          "You passed 20000 input tokens and requested 1000 output tokens. However, the model's context length is only 16384 tokens, resulting in a maximum input length of 15384 tokens. Please reduce the length of the input prompt.",
        type: 'BadRequestError',
        param: 'input_tokens',
        code: 400,
      },
    },
    overflow,
  ],
  ['Ollama', 400, { error: 'prompt too long; exceeded max context length by 4 tokens' }, overflow],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'request (37312 tokens) exceeds the available context size (4096 tokens), try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 37312,
        n_ctx: 4096,
      },
    },
    overflow,
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 4303>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
    },
    overflow,
  ],
  [
    'older LM Studio',
    400,
    {
      error:
        'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.',
    },
    overflow,
  ],
  [
    'LM Studio, mid-stream',
    undefined,
    {
      error:
        'Reached context length of 4096 tokens with model (arch: qwen3vlmoe) that does not currently support mid-generation context overflow. Try reloading with a larger context length or shortening the prompt/chat.',
    },
    overflow,
  ],
  ['LM Studio with MLX', 400, { error: 'Context size has been exceeded.' }, overflow],
  [
    'Moonshot',
    400,
    {
      error: {
        message: 'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)',
        type: 'invalid_request_error',
      },
    },
    overflow,
  ],
  [
    'Alibaba',
    400,
    {
      error: {
        code: 'invalid_parameter_error',
        message: '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]',
        param: null,
        type: 'invalid_request_error',
      },
      request_id: '81a373d6-28bd-9968-8335-e22a2127c41b',
    },
    overflow,
  ],
  [
    'GitHub Copilot',
    400,
    openai('prompt token count of 64114 exceeds the limit of 64000', 'model_max_prompt_tokens_exceeded'),
    overflow,
  ],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }, overflow],
  [
    'Together',
    400,
    openai("The input (150000 tokens) is longer than the model's context length (131072 tokens)."),
    overflow,
  ],
  ['MiniMax', 400, openai('invalid params, context window exceeds limit (2013)'), overflow],
  ['a gateway', 413, '<html><head><title>413 Request Entity Too Large</title></head></html>', overflow],
]

const notTooLong: readonly Case[] = [
  [
    'the answer, OpenAI',
    400,
    openai(
      'max_tokens is too large: 32768. This model supports at most 16384 completion tokens, whereas you provided 32768.',
      'invalid_value',
    ),
    badRequest,
  ],
  [
    'the answer, Anthropic',
    400,
    claude(
      'invalid_request_error',
      'max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022',
    ),
    badRequest,
  ],
  [
    'the answer, Groq',
    400,
    openai(
      'max_tokens must be less than or equal to 16384, the maximum value for max_tokens is less than the context_window for this model',
    ),
    badRequest,
  ],
  [
    'the answer, DeepSeek',
    400,
    openai('Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'),
    badRequest,
  ],
  [
    'the answer, Alibaba',
    400,
    openai('<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 32768]'),
    badRequest,
  ],
  [
    'the answer, Bedrock',
    400,
    { message: 'The maximum tokens you requested exceeds the model limit of 32768' },
    badRequest,
  ],
  [
    'the id of a call',
    400,
    openai(
      "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 43 instead.",
      'string_above_max_length',
    ),
    badRequest,
  ],
  [
    'the list of tools',
    400,
    openai(
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 325 instead.",
      'array_above_max_length',
    ),
    badRequest,
  ],
  [
    'the description of a tool',
    400,
    openai(
      "Invalid 'tools[13].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 1103 instead.",
      'string_above_max_length',
    ),
    badRequest,
  ],
  [
    'the schema of a tool',
    400,
    openai(
      "Invalid schema for function 'set_context_length': In context=('properties', 'length'), 'required' is required to be supplied and to be an array including every key in properties. Missing 'context'.",
      'invalid_function_parameters',
    ),
    badRequest,
  ],
  [
    'a call without its result',
    400,
    claude(
      'invalid_request_error',
      'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    ),
    badRequest,
  ],
  [
    'tokens per minute, Azure',
    429,
    {
      error: {
        code: '429',
        message:
          'Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-08-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 9 seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.',
      },
    },
    { ...rateLimited, retryAfterMs: 9000 },
  ],
  [
    'tokens per minute, Anthropic',
    429,
    claude(
      'rate_limit_error',
      "This request would exceed your organization's rate limit of 30,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested, or try again later.",
    ),
    rateLimited,
  ],
  [
    'tokens per minute, Bedrock',
    429,
    { message: 'Too many tokens, please wait before trying again.' },
    rateLimited,
  ],
]

const limits: readonly Case[] = [
  [
    'OpenAI',
    429,
    openai(
      'Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 1.5s. Visit https://platform.openai.com/account/rate-limits to learn more.',
      'rate_limit_exceeded',
      'tokens',
    ),
    { ...rateLimited, retryAfterMs: 1500 },
  ],
  [
    'OpenAI, one request above the limit per minute',
    429,
    openai(
      'Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 30601. The input or output tokens must be reduced in order to run successfully.',
      'rate_limit_exceeded',
      'tokens',
    ),
    { ...outOfCredit, says: /shorten the conversation, or raise the limit/ },
  ],
  [
    'OpenAI without money',
    429,
    openai(
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
      'insufficient_quota',
      'insufficient_quota',
    ),
    { ...outOfCredit, says: /check the plan and billing/ },
  ],
  [
    'OpenAI at its billing limit',
    429,
    openai('Billing hard limit has been reached', 'billing_hard_limit_reached'),
    outOfCredit,
  ],
  [
    'Anthropic without credit',
    400,
    claude(
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ),
    outOfCredit,
  ],
  [
    'Groq, which always ends with a billing link',
    429,
    openai(
      'Rate limit reached for model `llama-3.1-8b-instant` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing',
      'rate_limit_exceeded',
      'tokens',
    ),
    { ...rateLimited, retryAfterMs: 4770 },
  ],
  [
    'Gemini, with both billing and a delay',
    429,
    gemini(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: 250000, model: gemini-2.5-flash\nPlease retry in 34.074824224s.',
      { '@type': 'type.googleapis.com/google.rpc.Help', links: [] },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' },
    ),
    { ...rateLimited, retryAfterMs: 34_075 },
  ],
  [
    'Gemini with the delay only in its details',
    429,
    gemini(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).', {
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: '7s',
    }),
    { ...rateLimited, retryAfterMs: 7000 },
  ],
  [
    'Gemini, with the whole response in a message',
    429,
    {
      error: {
        message:
          '{\n  "error": {\n    "code": 429,\n    "message": "Resource has been exhausted (e.g. check quota).",\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}\n',
        code: 429,
        status: 'Too Many Requests',
      },
    },
    { ...rateLimited, says: /^them returned 429: Resource has been exhausted \(e\.g\. check quota\)\.$/ },
  ],
  [
    'Mistral',
    429,
    {
      object: 'error',
      message: 'Rate limit exceeded',
      type: 'rate_limited',
      param: null,
      code: '1300',
      raw_status_code: 429,
    },
    rateLimited,
  ],
  [
    'Mistral, full',
    429,
    {
      object: 'error',
      message: 'Service tier capacity exceeded for this model.',
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
    rateLimited,
  ],
  [
    'DeepSeek without credit',
    402,
    openai('Insufficient Balance', 'invalid_request_error', 'unknown_error'),
    outOfCredit,
  ],
  [
    'OpenRouter',
    429,
    {
      error: {
        message: 'Provider returned error',
        code: 429,
        metadata: {
          raw: 'z-ai/glm-5.3-flash is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits.',
          provider_name: 'BaseTen',
        },
      },
    },
    {
      ...rateLimited,
      says: 'Provider returned error: z-ai/glm-5.3-flash is temporarily rate-limited upstream',
    },
  ],
  [
    'OpenRouter, with the status only in the body',
    undefined,
    {
      error: {
        message: 'Provider returned error',
        code: 429,
        metadata: { raw: 'error code: 1015', provider_name: 'Kluster' },
      },
    },
    { ...rateLimited, status: 429, says: /^them failed: Provider returned error: error code: 1015$/ },
  ],
  [
    'OpenRouter without credit',
    402,
    {
      error: {
        message:
          'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 2003.',
        code: 402,
      },
    },
    outOfCredit,
  ],
  [
    'Moonshot',
    429,
    {
      error: {
        message:
          'Your account org-78cd<ak-f94z> request reached organization max RPM: 20, please try again after 1 seconds',
        type: 'rate_limit_reached_error',
      },
    },
    { ...rateLimited, retryAfterMs: 1000 },
  ],
  [
    'Moonshot, overloaded',
    429,
    {
      error: {
        type: 'rate_limit_error',
        message: 'The engine is currently overloaded, please try again later',
      },
      type: 'error',
    },
    rateLimited,
  ],
  [
    'Moonshot without credit',
    403,
    {
      error: {
        message:
          'Your account org-1<ak-1> is not active, organization <org-1> exceeded current quota, please check your plan and billing details',
        type: 'exceeded_current_quota_error',
      },
    },
    outOfCredit,
  ],
  [
    'xAI without money',
    429,
    {
      code: 'Some resource has been exhausted',
      error:
        'Your team 16f2151a has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.',
    },
    outOfCredit,
  ],
  [
    'xAI with a new team',
    403,
    {
      code: 'The caller does not have permission to execute the specified operation',
      error:
        "Your newly created team doesn't have any credits or licenses yet. You can purchase those on https://console.x.ai/team/481c7584.",
    },
    outOfCredit,
  ],
  [
    'Alibaba without credit',
    400,
    {
      code: 'Arrearage',
      message: 'Access denied, please make sure your account is in good standing.',
      request_id: 'x',
    },
    outOfCredit,
  ],
  [
    'Alibaba',
    429,
    {
      error: {
        code: 'limit_requests',
        message: 'You exceeded your current requests list',
        type: 'limit_requests',
      },
    },
    rateLimited,
  ],
  [
    'Bedrock',
    429,
    { __type: 'ThrottlingException', message: 'Too many requests, please wait before trying again.' },
    rateLimited,
  ],
  [
    'Bedrock, mid-stream',
    undefined,
    { __type: 'ThrottlingException', message: 'Too many tokens' },
    rateLimited,
  ],
  ['an empty body', 429, '', rateLimited],
]

const others: readonly Case[] = [
  [
    'a wrong key, OpenAI',
    401,
    openai(
      'Incorrect API key provided: sk-ab****cd. You can find your API key at https://platform.openai.com/account/api-keys.',
      'invalid_api_key',
    ),
    { ...auth, says: /check the API key/ },
  ],
  ['a wrong key, Anthropic', 401, claude('authentication_error', 'invalid x-api-key'), auth],
  [
    'a wrong key, Azure',
    401,
    {
      error: {
        code: '401',
        message:
          'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
      },
    },
    auth,
  ],
  [
    'a wrong key, Gemini',
    400,
    gemini(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
    }),
    auth,
  ],
  [
    'a wrong key, xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: 'Incorrect API key provided: na***ys. You can obtain an API key from https://console.x.ai.',
    },
    auth,
  ],
  ['a wrong key, Mistral', 401, { detail: 'Unauthorized' }, { ...auth, says: 'Unauthorized' }],
  [
    'a wrong key, DeepSeek',
    401,
    openai(
      'Authentication Fails, Your api key: ****6789 is invalid',
      'invalid_request_error',
      'authentication_error',
    ),
    auth,
  ],
  ['no key, OpenRouter', 401, { error: { message: 'No auth credentials found', code: 401 } }, auth],
  [
    'no permission, Anthropic',
    403,
    claude('permission_error', 'Your API key does not have permission to use the specified resource.'),
    auth,
  ],
  [
    'no permission, AWS',
    403,
    { Message: 'User: arn:aws:iam::1:user/x is not authorized to perform: bedrock:InvokeModel' },
    { ...auth, says: 'is not authorized' },
  ],
  [
    'an unsupported country, OpenAI',
    403,
    openai(
      'Country, region, or territory not supported',
      'unsupported_country_region_territory',
      'request_forbidden',
    ),
    auth,
  ],
  ['no credit and a wrong key', 401, openai('check your plan and billing details', 'invalid_api_key'), auth],
  [
    'no such model, OpenAI',
    404,
    openai('The model `gpt-7` does not exist or you do not have access to it.', 'model_not_found'),
    { ...badRequest, says: /check the model's name and the baseURL/ },
  ],
  ['no such model, Anthropic', 404, claude('not_found_error', 'model: claude-9'), badRequest],
  [
    'no such model, Ollama',
    404,
    openai('model "llama9" not found, try pulling it first', null, 'api_error'),
    badRequest,
  ],
  [
    'no such deployment, Azure',
    404,
    {
      error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' },
    },
    badRequest,
  ],
  [
    'no such address, LM Studio',
    undefined,
    { error: 'Unexpected endpoint or method. (POST /chat/completions)' },
    { ...badRequest, says: /check the model's name and the baseURL/ },
  ],
  ['no tools, Ollama', 400, openai('gemma:latest does not support tools', null, 'api_error'), badRequest],
  [
    'no memory, Ollama',
    500,
    { error: 'model requires more system memory (2.7 GiB) than is available (2.3 GiB)' },
    providerError,
  ],
  [
    'no right to a file, Ollama',
    500,
    { error: 'open /var/lib/ollama/models: permission denied' },
    providerError,
  ],
  [
    'an unknown field, Mistral',
    422,
    {
      object: 'error',
      message: {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'stream_options'],
            msg: 'Extra inputs are not permitted',
            input: {},
          },
        ],
      },
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
    { ...badRequest, says: /stream_options.*Extra inputs are not permitted/ },
  ],
  [
    'a missing field, FastAPI',
    422,
    { detail: [{ loc: ['body', 'messages'], msg: 'field required', type: 'value_error.missing' }] },
    { ...badRequest, says: /messages.*field required/ },
  ],
  [
    'a tool named after billing',
    400,
    openai("Invalid schema for function 'billing_lookup': In context=('properties', 'billing'), ..."),
    badRequest,
  ],
  [
    'a tool named after overload',
    400,
    openai("Invalid schema for function 'is_overloaded': ..."),
    badRequest,
  ],
  [
    'a filter, Azure',
    400,
    {
      error: {
        code: 'content_filter',
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      },
    },
    badRequest,
  ],
  ['time, with 408', 408, openai('Request timed out.'), timedOut],
  [
    'time, with 504',
    504,
    '<html><head><title>504 Gateway Time-out</title></head></html>',
    { ...timedOut, says: /a web page titled "504 Gateway Time-out"/ },
  ],
  ['time, in the middle', undefined, claude('timeout_error', 'Request timed out'), timedOut],
  [
    'a timeout, Gemini mid-stream',
    undefined,
    gemini(504, 'DEADLINE_EXCEEDED', 'Deadline expired'),
    { ...timedOut, status: 504 },
  ],
  ['a conflict', 409, openai('conflict'), providerError],
  [
    'a server error, OpenAI',
    500,
    openai('The server had an error while processing your request. Sorry about that!', null, 'server_error'),
    providerError,
  ],
  ['a failure of theirs, Anthropic', 500, claude('api_error', 'Internal server error'), providerError],
  [
    'a server error, mid-stream',
    undefined,
    openai('An error occurred while processing your request.', 'server_error', 'server_error'),
    providerError,
  ],
  [
    'a bad gateway',
    502,
    '<!DOCTYPE html>\n<html><head><title>api.openai.com | 502: Bad gateway</title></head><body>…</body></html>',
    providerError,
  ],
  [
    'a Cloudflare page',
    520,
    '<html><body>nothing</body></html>',
    { ...providerError, says: /^them returned 520: a web page$/ },
  ],
  [
    'overloaded, with 503',
    503,
    openai('The engine is currently overloaded, please try again later', null, 'server_error'),
    busy,
  ],
  ['too many for them, OpenAI', 503, openai('Slow down', 'slow_down', 'server_error'), busy],
  [
    'overloaded, Gemini',
    503,
    gemini(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
    busy,
  ],
  ['too many for them, Anthropic', 529, claude('overloaded_error', 'Overloaded'), busy],
  ['too many for them, Anthropic in the middle', undefined, claude('overloaded_error', 'Overloaded'), busy],
  ['overloaded, in the message', 500, openai('The model is overloaded'), busy],
  [
    'llama.cpp while it loads',
    503,
    { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
    busy,
  ],
  ['a bad request, mid-stream', undefined, openai('bad', null, 'invalid_request_error'), badRequest],
  ['no message at all', 500, '', { ...providerError, says: /^them returned 500$/ }],
  ['an empty object', 400, {}, { ...badRequest, says: /^them returned 400$/ }],
  ['null', 400, null, badRequest],
  ['an empty list', 400, [], badRequest],
  ['a plain string', 400, 'nope', { ...badRequest, says: 'them returned 400: nope' }],
]

describe('a provider error', () => {
  test.each(tooLong)('means that the conversation is too long: %s', (...one) => {
    check(one, false)
    check(one, true)
  })

  test.each(notTooLong)('does not mean that the conversation is too long: %s', (...one) => check(one, true))

  test.each(limits)('means a limit: %s', (...one) => {
    check(one, false)
    check(one, true)
  })

  test.each(others)('has another reason: %s', (...one) => check(one, true))
})

describe('how long to wait', () => {
  const limited = (headers: Record<string, string>, body: unknown = '', status = 429) =>
    failureOf({ provider: 'them', status, headers: new Headers(headers), body })

  test('is taken from the headers before the body', () => {
    const body = openai('Please try again in 20s.')
    expect(limited({ 'retry-after': '3' }, body).retryAfterMs).toBe(3000)
    expect(limited({ 'retry-after-ms': '250', 'retry-after': '3' }, body).retryAfterMs).toBe(250)
    expect(limited({ 'retry-after': '0' }, body).retryAfterMs).toBe(0)
    expect(limited({ 'retry-after': '-1' }, body).retryAfterMs).toBe(20_000)
    expect(limited({ 'retry-after': '86400' }, body).retryAfterMs).toBe(86_400_000)
  })

  test('may be a date', () => {
    const { retryAfterMs = 0 } = limited({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() })
    expect(retryAfterMs).toBeGreaterThan(50_000)
    expect(retryAfterMs).toBeLessThanOrEqual(60_000)
  })

  test('is set only for retryable failures and rate limits', () => {
    for (const status of [408, 409, 429, 500, 502, 503, 504, 529])
      expect(limited({ 'retry-after': '3' }, '', status).retryAfterMs, String(status)).toBe(3000)
    for (const status of [400, 401, 403, 404, 413, 422])
      expect(limited({ 'retry-after': '3' }, '', status).retryAfterMs, String(status)).toBeUndefined()
  })

  test('does not make an empty account retryable', () => {
    const error = limited(
      { 'retry-after': '3' },
      openai('You exceeded your current quota', 'insufficient_quota'),
    )
    expect(error).toMatchObject({ code: 'rate_limit', retryable: false })
  })
})

test('x-should-retry overrides the status', () => {
  const shouldRetry = (status: number, value: string) =>
    failureOf({ provider: 'them', status, headers: new Headers({ 'x-should-retry': value }), body: '' })
      .retryable
  expect(shouldRetry(429, 'false')).toBe(false)
  expect(shouldRetry(500, 'false')).toBe(false)
  expect(shouldRetry(400, 'true')).toBe(true)
  expect(shouldRetry(429, 'maybe')).toBe(true)
  expect(shouldRetry(400, '')).toBe(false)
})

describe('the message', () => {
  test('has the provider, the status, its message, what to do, and the name of the key', () => {
    const error = failureOf({
      provider: 'groq',
      status: 401,
      body: openai('Invalid API Key'),
      keyName: 'GROQ_API_KEY',
    })
    expect(error.message).toBe(
      'groq returned 401: Invalid API Key — check the API key and its permissions (GROQ_API_KEY)',
    )
  })

  test('is limited in length and well-formed', () => {
    const error = failureOf({
      provider: 'them',
      status: 500,
      body: `${'x'.repeat(999)}🙂${'y'.repeat(5000)}`,
    })
    expect(error.message.length).toBeLessThan(1100)
    expect(error.message.isWellFormed()).toBe(true)
  })
})

/** Everything that an error shows. */
function visibleText(error: MillraceError): string {
  return [
    error.message,
    error.stack,
    String(error.cause),
    JSON.stringify(error),
    inspect(error, { depth: null, showHidden: true }),
  ].join('\n')
}

describe('a key', () => {
  const key = 'corp"7f3a\\9c1d2b'
  const quoted: readonly (readonly [string, unknown])[] = [
    ['in the message', openai(`Incorrect API key provided: ${key}.`)],
    ['in text', `<html><head><title>no ${key}</title></head></html>`],
    [
      'in a list of details',
      { detail: [{ loc: ['header', 'authorization'], msg: 'bad', input: `Bearer ${key}` }] },
    ],
    [
      'in the upstream message',
      { error: { message: 'no', code: 401, metadata: { raw: `{"error":"${key}"}` } } },
    ],
    ['where the message is cut', openai(`${'x'.repeat(990)}${key}`)],
    ['in an unknown format', { error: { message: { reason: [key] } } }],
  ]

  test.each(quoted)('that is quoted %s is not shown', (_, body) => {
    for (const one of [body, JSON.stringify(body)])
      for (const status of [401, 400, 500, undefined]) {
        const error = failureOf({ provider: 'them', status, body: one, secrets: [key] })
        expect(visibleText(error)).not.toContain('7f3a')
        expect(visibleText(error)).not.toContain('corp"')
      }
  })

  test('that is unknown is not shown either, if it looks like a key', () => {
    const error = failureOf({ provider: 'them', status: 401, body: openai('no: sk-proj-abcDEF0123456789') })
    expect(visibleText(error)).not.toContain('abcDEF')
  })
})
