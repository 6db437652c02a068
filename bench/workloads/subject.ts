import { connect } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import * as z from 'zod'
import type { BenchTool, Client, Session, Wire } from '../contract.ts'
import { scenarioOf, type ToolSchema } from '../server/scenario.ts'
import { checkCalls, checkPartials, checkText, newReceived, type Received, textOf } from './received.ts'
import { type Job, NotOffered } from './workload.ts'

/** A client, opened for one scenario of the server. */
export interface Subject {
  /** Uses it once; with tools, not concurrently. `onText` gets each piece as it arrives. */
  play(onText?: (piece: string) => void): Promise<Received>
  /** Called for each tool call. */
  onCall: () => void
  /** How long the slow tool takes. */
  slowMs: number
  /**
   * Compares everything played so far with what the server sent, and discards it. Throws if they
   * differ.
   */
  check(): Promise<void>
  /** The size of the request of each round, of the last use. */
  sentKilobytes(): Promise<readonly number[]>
}

const models: Readonly<Record<Wire, string>> = {
  chat: 'gpt-4.1-mini',
  responses: 'gpt-4.1-mini',
  messages: 'claude-sonnet-4-5',
}

const prompt = 'Please tell me all about it.'

/** This floor reads bytes without parsing them. */
const readsNothing = (client: string) => client === 'floor-bytes'

/** Loads the client that the job names, unless one is passed. */
export async function subject(
  { client: name, wire, url, work }: Pick<Job, 'client' | 'wire' | 'url' | 'work'>,
  scenarioName: string,
  how: keyof Session = 'answer',
  given?: Client,
): Promise<Subject> {
  const scenario = scenarioOf(scenarioName)
  if (!scenario) throw new Error(`unknown scenario ${scenarioName}`)
  const client = given ?? (await loadClient(name))
  const reason = client.without?.[work]
  if (reason !== undefined) throw new NotOffered(reason)

  let current = newReceived()
  let all: Received[] = []
  const opened = await client.open({
    wire,
    baseURL: `${url}/${scenarioName}/v1`,
    model: models[wire],
    tools: benchTools(
      scenario.tools,
      (tool, input) => {
        current.calls.push({ name: tool, input })
        self.onCall()
      },
      () => self.slowMs,
    ),
    maxRounds: scenario.rounds,
  })
  const use = opened[how]?.bind(opened)
  if (!use) throw new NotOffered(`it has no ${how}`)
  await ask(`${url}/${scenarioName}/v1/${wire === 'chat' ? 'chat/completions' : wire}`)
  const served = Number(await ask(`${url}/requests`))
  let played = 0

  const self: Subject = {
    onCall: () => undefined,
    slowMs: 0,
    async play(onText) {
      const received = newReceived(onText)
      current = received
      all.push(received)
      await use(prompt, received)
      return received
    },
    async check() {
      played += all.length
      const sent = textOf(scenario)
      for (const received of all) {
        if (!readsNothing(name) && work !== 'streams') checkText(received, sent)
        checkCalls(received, scenario)
        if (how === 'partials') checkPartials(received, scenario)
      }
      all = []
      const requests = Number(await ask(`${url}/requests`)) - served
      if (requests !== played * scenario.rounds)
        throw new Error(`${requests} requests, expected ${played * scenario.rounds}`)
    },
    async sentKilobytes() {
      const sizes: readonly number[] = JSON.parse(await ask(`${url}/sizes`))
      return sizes.slice(0, scenario.rounds).map((bytes) => bytes / 1000)
    },
  }
  return self
}

/** Over a plain socket: what a client uses must not be loaded before its first use. */
async function ask(url: string): Promise<string> {
  const { hostname, port, host, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  let response = ''
  for await (const bytes of socket) response += bytes
  return response.slice(response.indexOf('\r\n\r\n') + 4)
}

/** A client of `clients/` by its file name, or any file by its path. */
export async function loadClient(name: string): Promise<Client> {
  const file = name.includes('/') ? resolve(name) : resolve(import.meta.dirname, '../clients', `${name}.ts`)
  const { default: client }: { default: Client } = await import(pathToFileURL(file).href)
  return client
}

type Input = Readonly<Record<string, unknown>>

const schemas: Readonly<Record<string, z.ZodObject>> = {
  look_up_order: z.object({ id: z.string().describe('The id of the order') }),
  get_weather: z.object({
    city: z.string().describe('The name of the city'),
    days: z.int().describe('How many days to look ahead'),
  }),
  convert_price: z.object({
    amount: z.number().describe('The amount'),
    from: z.string().describe('The currency it is in'),
    to: z.string().describe('The currency to convert to'),
  }),
  write_file: z.object({
    path: z.string().describe('The path of the file'),
    content: z.string().describe('The content of the file'),
  }),
  slow_search: z.object({ query: z.string().describe('What to look for') }),
}

const results: Readonly<Record<string, (input: Input) => string>> = {
  look_up_order: ({ id }) => `${id} has shipped`,
  get_weather: ({ city }) => `sunny in ${city}, 21 degrees`,
  convert_price: ({ amount, to }) => `${Number(amount) * 2} ${to}`,
  write_file: ({ path }) => `wrote ${path}`,
  slow_search: ({ query }) => `no results for ${query}`,
}

/**
 * The tools for clients. `ran` is called for each tool call; `slowMs` is the current duration of
 * the slow tool.
 */
export function benchTools(
  of: readonly ToolSchema[],
  ran: (name: string, input: Input) => void,
  slowMs: () => number,
): BenchTool[] {
  return of.map(({ name, description, jsonSchema }) => {
    const schema = schemas[name]
    const result = results[name]
    if (!schema || !result) throw new Error(`unknown tool ${name}`)
    async function search(input: Input) {
      ran(name, input)
      if (slowMs() > 0) await wait(slowMs())
      return result?.(input) ?? ''
    }
    function run(input: Input) {
      ran(name, input)
      return result?.(input) ?? ''
    }
    return { name, description, schema, jsonSchema, run: name === 'slow_search' ? search : run }
  })
}
