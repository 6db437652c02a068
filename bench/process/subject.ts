import type { Client, Session, Wire } from '../contract.ts'
import { scenarioOf } from '../server/scenario.ts'
import { benchTools } from '../works/tools.ts'
import type { Job } from '../works/work.ts'
import { loadClient } from './load-client.ts'
import { NotOffered } from './outcome.ts'
import type { Told } from './told.ts'
import { checkCalls, checkPartials, checkText, newTold, textOf } from './told.ts'

/** A client, opened for one scenario of the server. */
export interface Subject {
  /** Uses it once. Works with tools are not to be played twice at once. `onText` sees each piece as it comes. */
  play(onText?: (piece: string) => void): Promise<Told>
  /** Called at each run of a tool. */
  onCall: () => void
  /** How long the slow tool takes. */
  slowMs: number
  /** Holds everything played so far against what the server sent, and forgets it. Throws what is wrong. */
  check(): Promise<void>
}

const models: Readonly<Record<Wire, string>> = {
  chat: 'gpt-4.1-mini',
  responses: 'gpt-4.1-mini',
  messages: 'claude-sonnet-4-5',
}

const prompt = 'Please tell me all about it.'

/** A floor that only reads bytes cannot tell what is in them. */
const readsNothing = (client: string) => client === 'floor-bytes'

/** The client is the one that the job names, if it is not given. */
export async function subject(
  { client: name, wire, url, work }: Pick<Job, 'client' | 'wire' | 'url' | 'work'>,
  scenarioName: string,
  how: keyof Session = 'answer',
  given?: Client,
): Promise<Subject> {
  const scenario = scenarioOf(scenarioName)
  if (!scenario) throw new Error(`there is no scenario ${scenarioName}`)
  const client = given ?? (await loadClient(name))
  const reason = client.without?.[work]
  if (reason !== undefined) throw new NotOffered(reason)

  let current = newTold()
  let all: Told[] = []
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
      const told = newTold(onText)
      current = told
      all.push(told)
      await use(prompt, told)
      return told
    },
    async check() {
      played += all.length
      const sent = textOf(scenario)
      for (const told of all) {
        if (!readsNothing(name) && work !== 'streams') checkText(told, sent)
        checkCalls(told, scenario)
        if (how === 'partials') checkPartials(told, scenario)
      }
      all = []
      const requests = Number(await ask(`${url}/requests`)) - served
      if (requests !== played * scenario.rounds)
        throw new Error(`${requests} requests were made where ${played * scenario.rounds} were needed`)
    },
  }
  return self
}

async function ask(url: string): Promise<string> {
  const response = await fetch(url)
  return response.text()
}
