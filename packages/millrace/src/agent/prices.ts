import type { calcPrice as CalcPrice, ModelPrice as CatalogPrice } from '@pydantic/genai-prices'
import type { Cost, Model, Price, Problem, Usage } from '../protocol/index.ts'
import { isObject, kindOf, nameOf, simulatedPrices, toUsd, unknownField } from '../protocol/index.ts'

/** What a model costs. */
export interface ModelPrice {
  /** What a request with this usage costs. Takes less than a microsecond. */
  costOf(usage: Partial<Usage>): Cost
  /** The length of the context in tokens, if the catalog of prices has it. */
  readonly contextTokens?: number
}

export interface Prices {
  /**
   * Resolves when the price of this model can be looked up; undefined if it can be now. Never
   * rejects.
   */
  ready(model: Model): Promise<void> | undefined
  /** Undefined if the price is not known, or the catalog is not loaded yet. */
  find(model: Model): ModelPrice | undefined
}

/**
 * The prices of models: a custom price for the model's id, else the model's own, else that of the
 * catalog `@pydantic/genai-prices`. The catalog is loaded only for a model that needs it, which
 * takes about 60 ms of CPU time.
 */
export function pricesWith(custom: Readonly<Record<string, Price>>): Prices {
  const ownPrice = ({ id, price }: Model) => (Object.hasOwn(custom, id) ? custom[id] : price)
  return {
    ready(model) {
      if (catalog !== undefined || model.simulated || ownPrice(model) || !sourceOf(model)) return undefined
      loading ??= loadCatalog()
      return loading
    },
    find(model) {
      const own = ownPrice(model)
      if (own)
        return priceWith([{ above: -1, rates: ratesOf(own) }], model.simulated ? simulatedPrices : 'custom')
      return model.simulated ? undefined : catalogPrice(model)
    },
  }
}

/** Nano-dollars per token, search or request. */
type Rates = { readonly [Kind in keyof Price]-?: number } & { readonly request: number }

/** The rates of requests with more input tokens than this. They apply to the whole request. */
interface Tier {
  readonly above: number
  readonly rates: Rates
}

/** What has no price of its own is priced as what it is a part of. */
function ratesOf(price: Price, perThousandRequests = 0): Rates {
  const { input, output, cacheRead = input, cacheWrite = input, cacheWrite1h = cacheWrite } = price
  const { reasoning = output, inputAudio = input, outputAudio = output } = price
  const { inputImage = input, outputImage = output, webSearches = 0 } = price
  return {
    input: input * 1e3,
    output: output * 1e3,
    cacheRead: cacheRead * 1e3,
    cacheWrite: cacheWrite * 1e3,
    cacheWrite1h: cacheWrite1h * 1e3,
    reasoning: reasoning * 1e3,
    inputAudio: inputAudio * 1e3,
    outputAudio: outputAudio * 1e3,
    inputImage: inputImage * 1e3,
    outputImage: outputImage * 1e3,
    webSearches: webSearches * 1e6,
    request: perThousandRequests * 1e6,
  }
}

/** `tiers` start with the highest; the last one applies to every request. */
function priceWith(tiers: readonly Tier[], prices: string, contextTokens?: number): ModelPrice {
  return {
    costOf(usage) {
      const { inputTokens = 0 } = usage
      const { rates } = tiers.find(({ above }) => inputTokens > above) as Tier
      return { usd: toUsd(Math.round(nanosOf(usage, rates))), prices }
    },
    ...(contextTokens !== undefined && { contextTokens }),
  }
}

/**
 * Every token is counted once. Providers do not report how many cached tokens were audio or images,
 * so those count as separate as far as the whole allows.
 */
function nanosOf(usage: Partial<Usage>, rates: Rates): number {
  let input = usage.inputTokens ?? 0
  let output = usage.outputTokens ?? 0
  const takeInput = (count = 0) => {
    const taken = Math.min(count, input)
    input -= taken
    return taken
  }
  const takeOutput = (count = 0) => {
    const taken = Math.min(count, output)
    output -= taken
    return taken
  }
  const { cacheWriteTokens = 0, cacheWrite1hTokens = 0, webSearches = 0 } = usage
  const writtenFor1h = Math.min(cacheWrite1hTokens, cacheWriteTokens)
  return (
    takeInput(usage.cacheReadTokens) * rates.cacheRead +
    takeInput(writtenFor1h) * rates.cacheWrite1h +
    takeInput(cacheWriteTokens - writtenFor1h) * rates.cacheWrite +
    takeInput(usage.inputAudioTokens) * rates.inputAudio +
    takeInput(usage.inputImageTokens) * rates.inputImage +
    input * rates.input +
    takeOutput(usage.reasoningTokens) * rates.reasoning +
    takeOutput(usage.outputAudioTokens) * rates.outputAudio +
    takeOutput(usage.outputImageTokens) * rates.outputImage +
    output * rates.output +
    webSearches * rates.webSearches +
    rates.request
  )
}

interface Catalog {
  readonly calcPrice: typeof CalcPrice
  /** What a cost says about its price: `genai-prices 0.1.8`. */
  readonly name: string
}

const catalogPackage = '@pydantic/genai-prices'

/** Null if it cannot be loaded, as in a bundle without the package. */
let catalog: Catalog | null | undefined
let loading: Promise<void> | undefined

async function loadCatalog(): Promise<void> {
  try {
    const { calcPrice } = await import('@pydantic/genai-prices')
    const version = catalogVersion()
    catalog = { calcPrice, name: version === undefined ? 'genai-prices' : `genai-prices ${version}` }
  } catch {
    catalog = null
  }
}

/**
 * The package exports its version nowhere, so this reads its package.json. Without a file system,
 * as in browsers and some bundles, the version is unknown.
 */
function catalogVersion(): string | undefined {
  try {
    const node = globalThis.process.getBuiltinModule('node:module')
    const entry = node.createRequire(import.meta.url).resolve(catalogPackage)
    const { name, version } = node.createRequire(entry)('../package.json')
    return name === catalogPackage ? version : undefined
  } catch {
    return undefined
  }
}

/** The catalog's ids of providers whose models have no address, as those of the AI SDK. */
const catalogIds: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws',
  anthropic: 'anthropic',
  azure: 'azure',
  bedrock: 'aws',
  cerebras: 'cerebras',
  cohere: 'cohere',
  deepseek: 'deepseek',
  fireworks: 'fireworks',
  google: 'google',
  groq: 'groq',
  mistral: 'mistral',
  moonshotai: 'moonshotai',
  openai: 'openai',
  openrouter: 'openrouter',
  perplexity: 'perplexity',
  togetherai: 'together',
  vertex: 'google',
  xai: 'x-ai',
}

type Source = { readonly providerApiUrl: string } | { readonly providerId: string }

/**
 * Where the catalog may know the model from. If there is an address, only the address counts: a
 * local server or a gateway has prices of its own, whatever it calls its models. No provider of the
 * catalog is reached over plain HTTP.
 */
function sourceOf({ address, provider }: Model): Source | undefined {
  if (address !== undefined) return address.startsWith('https:') ? { providerApiUrl: address } : undefined
  // The AI SDK adds the kind of API, as in `openai.responses`.
  const [name = ''] = provider.split('.')
  const providerId = Object.hasOwn(catalogIds, name) ? catalogIds[name] : undefined
  return providerId === undefined ? undefined : { providerId }
}

/** Prices that were found, or not, in this minute. */
let found = new Map<string, ModelPrice | undefined>()
let foundMinute = -1
const maxFound = 1000

/**
 * The lookup takes about 50 µs, so it is done once per minute. Prices change at full minutes: at the
 * start of a day, or at a time of day.
 */
function catalogPrice(model: Model): ModelPrice | undefined {
  const source = catalog && sourceOf(model)
  if (!source) return undefined
  const minute = Math.floor(Date.now() / 60_000)
  if (minute !== foundMinute || found.size >= maxFound) {
    found = new Map()
    foundMinute = minute
  }
  const key = `${model.address ?? model.provider}\n${model.id}`
  if (!found.has(key)) found.set(key, lookUp(catalog as Catalog, source, model.id))
  return found.get(key)
}

function lookUp({ calcPrice, name }: Catalog, source: Source, id: string): ModelPrice | undefined {
  try {
    const match = calcPrice({}, id, source)
    if (!match) return undefined
    const { model, model_price: prices } = match
    // Many models in the catalog have no price per token. Few of them are free.
    if (prices.input_mtok === undefined && !id.endsWith(':free')) return undefined
    return priceWith(tiersOf(prices), name, model.context_window)
  } catch {
    // A price that this version of the package does not understand.
    return undefined
  }
}

const catalogKeys = {
  cacheRead: 'cache_read_mtok',
  cacheWrite: 'cache_write_mtok',
  cacheWrite1h: 'cache_write_1h_mtok',
  reasoning: 'output_reasoning_mtok',
  inputAudio: 'input_audio_mtok',
  outputAudio: 'output_audio_mtok',
  inputImage: 'input_image_mtok',
  outputImage: 'output_image_mtok',
  webSearches: 'web_searches_kcount',
} as const satisfies { [Kind in Exclude<keyof Price, 'input' | 'output'>]: string }

function tiersOf(prices: CatalogPrice): Tier[] {
  const starts = Object.values(prices).flatMap((price) =>
    typeof price === 'object' ? price.tiers.map(({ start }) => start) : [],
  )
  return [...new Set(starts).add(-1)]
    .sort((a, b) => b - a)
    .map((above) => {
      const at = (key: string) => priceAt(prices[key], above)
      const others = Object.entries(catalogKeys).map(([kind, key]) => [kind, at(key)])
      const price = {
        ...Object.fromEntries(others),
        input: at('input_mtok') ?? 0,
        output: at('output_mtok') ?? 0,
      }
      return { above, rates: ratesOf(price, at('requests_kcount')) }
    })
}

function priceAt(price: CatalogPrice[string], above: number): number | undefined {
  if (typeof price !== 'object') return price
  const reached = price.tiers.filter(({ start }) => start <= above).sort((a, b) => b.start - a.start)
  return reached[0]?.price ?? price.base
}

const priceFields = { input: true, output: true, ...catalogKeys }

/** Checks the agent option `prices`. */
export function pricesProblem(value: unknown): Problem {
  const example = "such as { 'my-model': { input: 1, output: 4 } } in dollars per million tokens"
  if (!isObject(value) || Array.isArray(value))
    return `must be an object of prices by model id, ${example}, not ${kindOf(value)}`
  for (const [id, price] of Object.entries(value)) {
    const problem = isObject(price)
      ? priceProblem(price)
      : `must be an object, ${example}, not ${kindOf(price)}`
    if (problem) return `has a price for '${id}' that ${problem}`
  }
  return false
}

function priceProblem(price: Readonly<Record<string, unknown>>): Problem {
  const unknown = unknownField(price, priceFields)
  if (unknown) return unknown
  for (const kind of ['input', 'output'])
    if (price[kind] === undefined) return `needs '${kind}', in dollars per million tokens`
  for (const [kind, usd] of Object.entries(price))
    if (usd !== undefined && !(typeof usd === 'number' && Number.isFinite(usd) && usd >= 0))
      return `has '${kind}', which must be a number of at least 0, not ${nameOf(usd)}`
  return false
}
