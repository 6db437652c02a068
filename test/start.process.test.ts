import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainEnv, run } from './processes.ts'
import { root } from './root.ts'
import { fixedPort } from './survival/server-process.ts'

// What `npm start` runs, after the build.
const main = join('examples', 'support-desk', 'main.ts')
// Only turns a hang into a failure.
const limit = { timeout: 100_000, killSignal: 'SIGKILL' } as const

const folder = mkdtempSync(join(tmpdir(), 'millrace-start-'))
let desks = 0

beforeAll(() => {
  if (!existsSync(join(root, 'packages/millrace/dist/cli/main.js')))
    throw new Error('packages/millrace/dist/cli/main.js is missing: run npm run build')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.concurrent('npm start', () => {
  test('prints its address, its model and commands to try', async () => {
    const desk = await openDesk()
    expect(desk.output()).toMatch(/^Millrace support desk: open http:\/\/127\.0\.0\.1:\d+\/\n/)
    expect((await fetch(desk.page)).headers.get('content-type')).toMatch('text/html')
    expect(await (await fetch(`${desk.page}voice`)).json()).toEqual({ speak: true, listen: true })
    expect(desk.output()).toContain('so a simulator answers, by keyword.')
    expect(desk.output()).toContain('Agents: support, returns. Threads are stored in')
    expect(desk.commands).toHaveLength(3)
    expect(await (await fetch(`${desk.page}threads`)).json()).toEqual({ threads: [] })
    expect(await desk.end()).toEqual({ exit: 0, stderr: '' })
  })

  test('keeps its port, and takes the next free one if that is in use', async () => {
    const port = await fixedPort()
    const first = await openDesk({ port })
    expect(first.page).toBe(`http://127.0.0.1:${port}/`)
    expect(first.output()).not.toContain('is in use')
    const second = await openDesk({ port })
    const [, used = ''] = /:(\d+)\/$/.exec(second.page) ?? []
    expect(Number(used)).toBeGreaterThan(port)
    expect(second.output()).toContain(`Port ${port} is in use, so this is port ${used}.\n`)
    await Promise.all([first.end(), second.end()])
  })

  test('its commands work when they are pasted', async () => {
    const desk = await openDesk()
    const [ask = '', show = '', refund = ''] = desk.commands
    const asked = await desk.paste(ask)
    expect(asked.exit).toBe(0)
    expect(asked.stdout).toContain('"outcome":"completed"')
    expect(asked.stdout.endsWith('event: end\ndata: {}\n\n')).toBe(true)

    const shown = await desk.paste(show)
    expect(shown).toMatchObject({ exit: 0, stderr: '' })
    expect(shown.stdout).toMatch(/^you › Where is ORD-42\?\n\nLet me look up ORD-42 and ask the carrier\./)
    expect(shown.stdout).toContain('[track_parcel] at the hub in Lyon\n')
    expect(shown.stdout.endsWith('is with Colibri, now at the hub in Lyon, and due on Thursday.\n')).toBe(
      true,
    )

    // Outside a terminal no one can be asked, so it prints how to answer.
    const waiting = await desk.paste(refund)
    expect(waiting).toMatchObject({
      exit: 6,
      stdout: expect.stringContaining('That is a desk lamp for €49.00. I need your approval for a refund.'),
    })
    const [, approve = ''] = /to approve: +(npx millrace .*)/.exec(waiting.stderr) ?? []
    expect(await desk.paste(approve)).toMatchObject({
      exit: 0,
      stdout: 'Done: €49.00 for ORD-43 is on its way back to you.\n',
    })
    expect(await desk.end()).toEqual({ exit: 0, stderr: '' })
  })

  test('tools run in parallel while the model generates, over HTTP', async () => {
    const desk = await openDesk()
    const events = await desk.ask('Where is ORD-42?')
    const at = (type: string, name: string) =>
      events.findIndex((event) => event.type === type && event.name === name)
    expect(at('tool-start', 'lookup_order')).toBeLessThan(at('tool-result', 'track_parcel'))
    const talking = events.findIndex(({ text }) => text?.includes('Carriers'))
    expect(talking).toBeGreaterThan(at('tool-start', 'track_parcel'))
    expect(talking).toBeLessThan(at('tool-result', 'track_parcel'))
    await desk.end()
  })

  test('agents have their own tools, and threads their own messages', async () => {
    const desk = await openDesk()
    const words = async (question: string, agent?: string) =>
      (await desk.ask(question, agent)).map(({ text }) => text ?? '').join('')
    expect(await words('Where is ORD-42?', 'returns')).toContain('is on its way.')
    expect(await words('What did I order?')).toContain('- ORD-44: a rain jacket, €89.50, being packed')
    expect(await words('What is ORD-99?')).toContain('I cannot help with ORD-99: there is no order ORD-99.')
    expect(await words('hello')).toContain('I am only a script and do not understand "hello".')
    await desk.end()
  })

  test('a conversation interrupted by kill -9 is completed after the next start', async () => {
    const first = await openDesk()
    const { id } = await first.post('/threads', {})
    await first.post(`/threads/${id}/messages`, { message: 'Where is ORD-42?' })
    await poll(async () => (await first.text(id)).includes('Let me look'))
    await first.kill()
    const second = await openDesk({ data: first.data })
    await poll(async () => (await second.text(id)).endsWith('and due on Thursday.'))
    expect(await second.end()).toEqual({ exit: 0, stderr: '' })
  })
})

interface StreamedEvent {
  readonly type: string
  readonly name?: string
  readonly text?: string
}

/** Starts the desk with a new database, or an existing one. */
async function openDesk({ data = join(folder, `desk-${++desks}.db`), port = 0 } = {}) {
  const env = {
    ...plainEnv(),
    // npx writes here; nothing needs a network.
    HOME: folder,
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    MILLRACE_DATA: data,
    PORT: String(port),
    MILLRACE_MODEL: 'simulator',
  }
  const child = spawn(process.execPath, [main], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...limit,
  })
  const [output, stderr] = [collect(child.stdout), collect(child.stderr)]
  const ended = new Promise<number | string | null>((resolve) =>
    child.on('close', (code, signal) => resolve(signal ?? code)),
  )
  let over = false
  void ended.then(() => {
    over = true
  })
  await poll(async () => over || output().includes('Refund'))
  if (over) throw new Error(`the desk did not start: ${stderr()}`)
  const [page = ''] = /http:\S+/.exec(output()) ?? []
  const url = page.replace(/\/$/, '')

  async function post(path: string, body: object): Promise<{ id: string }> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.json() as Promise<{ id: string }>
  }

  return {
    data,
    page,
    output,
    commands: output().match(/(?<=\n {2})(curl|npx) .*/g) ?? [],
    post,
    /** The text of a thread so far. */
    async text(id: string): Promise<string> {
      const view = await (await fetch(`${url}/threads/${id}`)).json()
      const { messages } = view as { messages: { role: string; content: { text?: string }[] }[] }
      return messages
        .filter(({ role }) => role === 'assistant')
        .flatMap(({ content }) => content.map(({ text }) => text ?? ''))
        .join('')
    },
    /** All events of the answer to a question, in a new thread. */
    async ask(message: string, agent = 'support'): Promise<StreamedEvent[]> {
      const { id } = await post('/threads', { agent })
      const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
      const response = await fetch(`${url}/threads/${id}/messages`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ message }),
      })
      const lines = (await response.text()).match(/(?<=^data: ).*"seq".*/gm) ?? []
      return lines.map((line) => JSON.parse(line).event)
    },
    paste: (command: string) => run('sh', ['-c', command], { cwd: root, env }),
    async end() {
      child.kill('SIGINT')
      return { exit: await ended, stderr: stderr() }
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function collect(stream: ChildProcess['stdout']): () => string {
  let text = ''
  stream?.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  return () => text
}

/** Without a limit: the test has one. */
async function poll(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 50))
}
