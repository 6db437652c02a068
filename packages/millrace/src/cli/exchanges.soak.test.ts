import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { client } from '../client/index.ts'
import { homeWith } from './cli.test-kit.ts'

const token = 's3cret-of-the-server'

test('recorded exchanges survive a killed server, and are deleted with their thread', async () => {
  const home = await homeWith(['Ahoy.', [{ text: 'Half an ' }, { text: 'answer' }], 'A whole answer.'], {
    deltaChars: 8,
    faults: [{ kind: 'stall', at: { event: 2 }, request: 1 }],
  })

  async function serving() {
    const server = home.start(['serve', '--port', '0'], { env: { MILLRACE_TOKEN: token } })
    await server.see(/listening at http:\S+\n/)
    const [, url = ''] = /listening at (\S+)/.exec(server.stdout()) ?? []
    return { ...server, threads: client(url, { token }) }
  }

  const first = await serving()
  const thread = await first.threads.create()
  const seq = await thread.send('Hello?')
  for await (const _ of thread.follow({ until: seq }));
  const { run } = await thread.state()
  const before = await thread.exchanges({ run: run?.id ?? '' })
  expect(before).toMatchObject([{ round: 1, wire: [{ status: 200, headers: { authorization: '[key]' } }] }])
  expect(JSON.parse(before[0]?.wire[0]?.body ?? '')).toEqual(home.simulator.requests[0]?.body)

  const next = await thread.send('And now?')
  for await (const { event } of thread.follow({ after: next })) if (event.type === 'text') break
  first.child.kill('SIGKILL')
  await first.ended

  const second = await serving()
  const again = second.threads.thread(thread.id)
  const runs: string[] = []
  for await (const { event } of again.follow({ after: next, until: next }))
    if (event.type === 'run-start') runs.push(event.runId)
  expect(await again.exchanges({ run: run?.id ?? '' })).toEqual(before)
  // The interrupted run, and the one that continued it.
  expect(runs).toHaveLength(2)
  expect(await again.exchanges({ run: runs[1] ?? '' })).toMatchObject([
    { round: 1, attempt: 1, ms: expect.any(Number) },
  ])

  const folder = join(home.folder, '.local', 'share', 'millrace', 'threads.db-exchanges')
  const files = globSync('**/*.json', { cwd: folder })
  expect(files.length).toBeGreaterThanOrEqual(2)
  for (const file of files) {
    const text = readFileSync(join(folder, file), 'utf8')
    expect(text).not.toContain('test-key')
    expect(text).not.toContain(token)
  }
  second.child.kill('SIGINT')
  await second.ended
  expect(await home.run(['delete', thread.id])).toMatchObject({ exit: 0 })
  expect(globSync('**/*.json', { cwd: folder })).toEqual([])
  expect(existsSync(folder)).toBe(true)
})
