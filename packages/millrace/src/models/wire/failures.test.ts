import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { MillraceError } from '../../protocol/index.ts'
import { failureOf } from './failures.ts'

interface Expected {
  readonly code: string
  readonly retryable: boolean
  readonly says?: string | RegExp
  readonly retryAfterMs?: number
  /** Where it is not that of the answer. */
  readonly status?: number
}

type Case = readonly [who: string, status: number | undefined, body: unknown, expected: Expected]

const overflow = { code: 'context_overflow', retryable: false } as const
const auth = { code: 'auth', retryable: false } as const
const slower = { code: 'rate_limit', retryable: true } as const
const broke = { code: 'rate_limit', retryable: false } as const
const busy = { code: 'overloaded', retryable: true } as const
const wrong = { code: 'llm_error', retryable: false } as const
const theirs = { code: 'llm_error', retryable: true } as const
const late = { code: 'timeout', retryable: true } as const

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
    'Anthropic, with the answer counted in',
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
    'Groq, more than a minute allows',
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
    'OpenRouter, in the words of who is behind it',
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
    'LM Studio of old',
    400,
    {
      error:
        'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.',
    },
    overflow,
  ],
  [
    'LM Studio, in the middle',
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
    wrong,
  ],
  [
    'the answer, Anthropic',
    400,
    claude(
      'invalid_request_error',
      'max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022',
    ),
    wrong,
  ],
  [
    'the answer, Groq',
    400,
    openai(
      'max_tokens must be less than or equal to 16384, the maximum value for max_tokens is less than the context_window for this model',
    ),
    wrong,
  ],
  [
    'the answer, DeepSeek',
    400,
    openai('Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'),
    wrong,
  ],
  [
    'the answer, Alibaba',
    400,
    openai('<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 32768]'),
    wrong,
  ],
  [
    'the answer, Bedrock',
    400,
    { message: 'The maximum tokens you requested exceeds the model limit of 32768' },
    wrong,
  ],
  [
    'the id of a call',
    400,
    openai(
      "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 43 instead.",
      'string_above_max_length',
    ),
    wrong,
  ],
  [
    'the list of tools',
    400,
    openai(
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 325 instead.",
      'array_above_max_length',
    ),
    wrong,
  ],
  [
    'what a tool is described with',
    400,
    openai(
      "Invalid 'tools[13].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 1103 instead.",
      'string_above_max_length',
    ),
    wrong,
  ],
  [
    'the schema of a tool',
    400,
    openai(
      "Invalid schema for function 'set_context_length': In context=('properties', 'length'), 'required' is required to be supplied and to be an array including every key in properties. Missing 'context'.",
      'invalid_function_parameters',
    ),
    wrong,
  ],
  [
    'a call without its result',
    400,
    claude(
      'invalid_request_error',
      'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    ),
    wrong,
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
    { ...slower, retryAfterMs: 9000 },
  ],
  [
    'tokens per minute, Anthropic',
    429,
    claude(
      'rate_limit_error',
      "This request would exceed your organization's rate limit of 30,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested, or try again later.",
    ),
    slower,
  ],
  [
    'tokens per minute, Bedrock',
    429,
    { message: 'Too many tokens, please wait before trying again.' },
    slower,
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
    { ...slower, retryAfterMs: 1500 },
  ],
  [
    'OpenAI, one request of more than a minute allows',
    429,
    openai(
      'Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 30601. The input or output tokens must be reduced in order to run successfully.',
      'rate_limit_exceeded',
      'tokens',
    ),
    { ...broke, says: /shorten the conversation, or raise the limit/ },
  ],
  [
    'OpenAI without money',
    429,
    openai(
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
      'insufficient_quota',
      'insufficient_quota',
    ),
    { ...broke, says: /check the plan and billing/ },
  ],
  [
    'OpenAI at its own limit',
    429,
    openai('Billing hard limit has been reached', 'billing_hard_limit_reached'),
    broke,
  ],
  [
    'Anthropic without money',
    400,
    claude(
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ),
    broke,
  ],
  [
    'Groq, who always ends with where to pay',
    429,
    openai(
      'Rate limit reached for model `llama-3.1-8b-instant` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing',
      'rate_limit_exceeded',
      'tokens',
    ),
    { ...slower, retryAfterMs: 4770 },
  ],
  [
    'Gemini, who speaks of billing and of seconds',
    429,
    gemini(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: 250000, model: gemini-2.5-flash\nPlease retry in 34.074824224s.',
      { '@type': 'type.googleapis.com/google.rpc.Help', links: [] },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' },
    ),
    { ...slower, retryAfterMs: 34_075 },
  ],
  [
    'Gemini with the delay in its details only',
    429,
    gemini(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).', {
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: '7s',
    }),
    { ...slower, retryAfterMs: 7000 },
  ],
  [
    'Gemini, its whole answer put into a message',
    429,
    {
      error: {
        message:
          '{\n  "error": {\n    "code": 429,\n    "message": "Resource has been exhausted (e.g. check quota).",\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}\n',
        code: 429,
        status: 'Too Many Requests',
      },
    },
    { ...slower, says: /^them answered 429: Resource has been exhausted \(e\.g\. check quota\)\.$/ },
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
    slower,
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
    slower,
  ],
  [
    'DeepSeek without money',
    402,
    openai('Insufficient Balance', 'invalid_request_error', 'unknown_error'),
    broke,
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
    { ...slower, says: 'Provider returned error: z-ai/glm-5.3-flash is temporarily rate-limited upstream' },
  ],
  [
    'OpenRouter, the status only within',
    undefined,
    {
      error: {
        message: 'Provider returned error',
        code: 429,
        metadata: { raw: 'error code: 1015', provider_name: 'Kluster' },
      },
    },
    { ...slower, status: 429, says: /^them failed: Provider returned error: error code: 1015$/ },
  ],
  [
    'OpenRouter without money',
    402,
    {
      error: {
        message:
          'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 2003.',
        code: 402,
      },
    },
    broke,
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
    { ...slower, retryAfterMs: 1000 },
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
    slower,
  ],
  [
    'Moonshot without money',
    403,
    {
      error: {
        message:
          'Your account org-1<ak-1> is not active, organization <org-1> exceeded current quota, please check your plan and billing details',
        type: 'exceeded_current_quota_error',
      },
    },
    broke,
  ],
  [
    'xAI without money',
    429,
    {
      code: 'Some resource has been exhausted',
      error:
        'Your team 16f2151a has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.',
    },
    broke,
  ],
  [
    'xAI with a new team',
    403,
    {
      code: 'The caller does not have permission to execute the specified operation',
      error:
        "Your newly created team doesn't have any credits or licenses yet. You can purchase those on https://console.x.ai/team/481c7584.",
    },
    broke,
  ],
  [
    'Alibaba without money',
    400,
    {
      code: 'Arrearage',
      message: 'Access denied, please make sure your account is in good standing.',
      request_id: 'x',
    },
    broke,
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
    slower,
  ],
  [
    'Bedrock',
    429,
    { __type: 'ThrottlingException', message: 'Too many requests, please wait before trying again.' },
    slower,
  ],
  [
    'Bedrock, in the middle',
    undefined,
    { __type: 'ThrottlingException', message: 'Too many tokens' },
    slower,
  ],
  ['somebody without a body', 429, '', slower],
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
    'a wrong country, OpenAI',
    403,
    openai(
      'Country, region, or territory not supported',
      'unsupported_country_region_territory',
      'request_forbidden',
    ),
    auth,
  ],
  ['no money and a wrong key', 401, openai('check your plan and billing details', 'invalid_api_key'), auth],
  [
    'no such model, OpenAI',
    404,
    openai('The model `gpt-7` does not exist or you do not have access to it.', 'model_not_found'),
    { ...wrong, says: /check the model's name and the baseURL/ },
  ],
  ['no such model, Anthropic', 404, claude('not_found_error', 'model: claude-9'), wrong],
  [
    'no such model, Ollama',
    404,
    openai('model "llama9" not found, try pulling it first', null, 'api_error'),
    wrong,
  ],
  [
    'no such deployment, Azure',
    404,
    {
      error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' },
    },
    wrong,
  ],
  [
    'no such address, LM Studio',
    undefined,
    { error: 'Unexpected endpoint or method. (POST /chat/completions)' },
    { ...wrong, says: /check the model's name and the baseURL/ },
  ],
  ['no tools, Ollama', 400, openai('gemma:latest does not support tools', null, 'api_error'), wrong],
  [
    'no memory, Ollama',
    500,
    { error: 'model requires more system memory (2.7 GiB) than is available (2.3 GiB)' },
    theirs,
  ],
  ['no right to a file, Ollama', 500, { error: 'open /var/lib/ollama/models: permission denied' }, theirs],
  [
    'a field too many, Mistral',
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
    { ...wrong, says: /stream_options.*Extra inputs are not permitted/ },
  ],
  [
    'a field too few, FastAPI',
    422,
    { detail: [{ loc: ['body', 'messages'], msg: 'field required', type: 'value_error.missing' }] },
    { ...wrong, says: /messages.*field required/ },
  ],
  [
    'a tool named after money',
    400,
    openai("Invalid schema for function 'billing_lookup': In context=('properties', 'billing'), ..."),
    wrong,
  ],
  ['a tool named after overload', 400, openai("Invalid schema for function 'is_overloaded': ..."), wrong],
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
    wrong,
  ],
  ['time, with 408', 408, openai('Request timed out.'), late],
  [
    'time, with 504',
    504,
    '<html><head><title>504 Gateway Time-out</title></head></html>',
    { ...late, says: /a web page titled "504 Gateway Time-out"/ },
  ],
  ['time, in the middle', undefined, claude('timeout_error', 'Request timed out'), late],
  [
    'time, Gemini in the middle',
    undefined,
    gemini(504, 'DEADLINE_EXCEEDED', 'Deadline expired'),
    { ...late, status: 504 },
  ],
  ['a conflict', 409, openai('conflict'), theirs],
  [
    'a failure of theirs, OpenAI',
    500,
    openai('The server had an error while processing your request. Sorry about that!', null, 'server_error'),
    theirs,
  ],
  ['a failure of theirs, Anthropic', 500, claude('api_error', 'Internal server error'), theirs],
  [
    'a failure of theirs, in the middle',
    undefined,
    openai('An error occurred while processing your request.', 'server_error', 'server_error'),
    theirs,
  ],
  [
    'a bad gateway',
    502,
    '<!DOCTYPE html>\n<html><head><title>api.openai.com | 502: Bad gateway</title></head><body>…</body></html>',
    theirs,
  ],
  [
    'a page of Cloudflare',
    520,
    '<html><body>nothing</body></html>',
    { ...theirs, says: /^them answered 520: a web page$/ },
  ],
  [
    'too many for them, with 503',
    503,
    openai('The engine is currently overloaded, please try again later', null, 'server_error'),
    busy,
  ],
  ['too many for them, OpenAI', 503, openai('Slow down', 'slow_down', 'server_error'), busy],
  [
    'too many for them, Gemini',
    503,
    gemini(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
    busy,
  ],
  ['too many for them, Anthropic', 529, claude('overloaded_error', 'Overloaded'), busy],
  ['too many for them, Anthropic in the middle', undefined, claude('overloaded_error', 'Overloaded'), busy],
  ['too many for them, in words', 500, openai('The model is overloaded'), busy],
  [
    'llama.cpp while it loads',
    503,
    { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
    busy,
  ],
  ['a bad request in the middle', undefined, openai('bad', null, 'invalid_request_error'), wrong],
  ['no words at all', 500, '', { ...theirs, says: /^them answered 500$/ }],
  ['an empty object', 400, {}, { ...wrong, says: /^them answered 400$/ }],
  ['null', 400, null, wrong],
  ['a list of nothing', 400, [], wrong],
  ['a bare word', 400, 'nope', { ...wrong, says: 'them answered 400: nope' }],
]

describe('what a provider refuses', () => {
  test.each(tooLong)('is too long a conversation: %s', (...one) => {
    check(one, false)
    check(one, true)
  })

  test.each(notTooLong)('is not too long a conversation: %s', (...one) => check(one, true))

  test.each(limits)('for a limit: %s', (...one) => {
    check(one, false)
    check(one, true)
  })

  test.each(others)('for another reason: %s', (...one) => check(one, true))
})

describe('how long to wait', () => {
  const limited = (headers: Record<string, string>, body: unknown = '', status = 429) =>
    failureOf({ provider: 'them', status, headers: new Headers(headers), body })

  test('is what the headers say, before any words', () => {
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

  test('is told of every failure that passes, and of no other', () => {
    for (const status of [408, 409, 429, 500, 502, 503, 504, 529])
      expect(limited({ 'retry-after': '3' }, '', status).retryAfterMs, String(status)).toBe(3000)
    for (const status of [400, 401, 403, 404, 413, 422])
      expect(limited({ 'retry-after': '3' }, '', status).retryAfterMs, String(status)).toBeUndefined()
  })

  test('does not make an empty account a matter of waiting', () => {
    const error = limited(
      { 'retry-after': '3' },
      openai('You exceeded your current quota', 'insufficient_quota'),
    )
    expect(error).toMatchObject({ code: 'rate_limit', retryable: false })
  })
})

test('a provider that says whether to try again is believed', () => {
  const wish = (status: number, value: string) =>
    failureOf({ provider: 'them', status, headers: new Headers({ 'x-should-retry': value }), body: '' })
      .retryable
  expect(wish(429, 'false')).toBe(false)
  expect(wish(500, 'false')).toBe(false)
  expect(wish(400, 'true')).toBe(true)
  expect(wish(429, 'maybe')).toBe(true)
  expect(wish(400, '')).toBe(false)
})

describe('the message', () => {
  test('says who answered what, what they said, what to do, and where the key comes from', () => {
    const error = failureOf({
      provider: 'groq',
      status: 401,
      body: openai('Invalid API Key'),
      keyName: 'GROQ_API_KEY',
    })
    expect(error.message).toBe(
      'groq answered 401: Invalid API Key — check the API key and what it may do (GROQ_API_KEY)',
    )
  })

  test('is not longer than anybody reads, and whole text', () => {
    const error = failureOf({
      provider: 'them',
      status: 500,
      body: `${'x'.repeat(999)}🙂${'y'.repeat(5000)}`,
    })
    expect(error.message.length).toBeLessThan(1100)
    expect(error.message.isWellFormed()).toBe(true)
  })
})

/** Everything that can be seen of an error. */
function shown(error: MillraceError): string {
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
      'in what the provider behind said',
      { error: { message: 'no', code: 401, metadata: { raw: `{"error":"${key}"}` } } },
    ],
    ['at the place where the message is cut', openai(`${'x'.repeat(990)}${key}`)],
    ['in words that nobody knows', { error: { message: { reason: [key] } } }],
  ]

  test.each(quoted)('that is quoted %s is not shown', (_, body) => {
    for (const one of [body, JSON.stringify(body)])
      for (const status of [401, 400, 500, undefined]) {
        const error = failureOf({ provider: 'them', status, body: one, secrets: [key] })
        expect(shown(error)).not.toContain('7f3a')
        expect(shown(error)).not.toContain('corp"')
      }
  })

  test('that nobody told us of is not shown either, if it looks like one', () => {
    const error = failureOf({ provider: 'them', status: 401, body: openai('no: sk-proj-abcDEF0123456789') })
    expect(shown(error)).not.toContain('abcDEF')
  })
})
