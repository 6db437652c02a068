import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ToolResultEvent } from 'millrace'
import { agent } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { type PermissionOptions, permission } from '../permission/permission.ts'
import { folder, hasSandbox } from './sandbox/sandbox.test-kit.ts'
import { type ShellOptions, shell } from './shell.ts'

// Nobody can tell from its words what it does.
const command = 'for name in made; do touch "$name"; done; echo "$HOME" > /dev/null; echo done'

/** What comes of a line when an agent with these rules is asked to run it. */
async function outcome(rules: PermissionOptions, options: Partial<ShellOptions> = {}) {
  const workspace = folder()
  const box = shell({ workspace, sandbox: 'required', ...options })
  const worker = agent({
    model: scriptedModel([[{ call: 'shell', input: { command } }], 'Done.']),
    tools: [box],
    permission: permission(rules),
  })
  const run = worker.stream('Go.')
  const results: ToolResultEvent[] = []
  for await (const event of run) if (event.type === 'tool-result') results.push(event)
  const { approvals } = await run.result
  await box.close()
  const [part] = results[0]?.output ?? []
  return {
    asked: approvals[0]?.reason,
    rule: approvals[0]?.permission?.rule ?? results[0]?.permission?.rule,
    text: part?.type === 'text' ? part.text : '',
    made: existsSync(join(workspace, 'made')),
  }
}

describe.runIf(hasSandbox)('a line that cannot be read', () => {
  test("runs without asking in the sandbox with sandboxed: 'allow'", async () => {
    expect(await outcome({ sandboxed: 'allow' })).toMatchObject({ asked: undefined, made: true })
  })

  test('is asked about, and shown whole, without', async () => {
    expect(await outcome({})).toMatchObject({ asked: expect.stringContaining(command), made: false })
  })

  test.each<[string, Partial<ShellOptions>]>([
    ['there is no sandbox', { sandbox: 'off' }],
    ['it can send away what it reads', { network: true }],
    ['it can send it to any host', { network: ['*'] }],
  ])('is asked about where %s', async (_, options) => {
    const { asked, made } = await outcome({ sandboxed: 'allow' }, options)
    expect({ asked, made }).toEqual({ asked: expect.stringContaining(command), made: false })
  })

  test('is denied where a rule denies what shows in it', async () => {
    expect(await outcome({ sandboxed: 'allow', deny: ['run(touch *)'] })).toMatchObject({
      rule: 'deny run(touch *)',
      made: false,
    })
  })

  test('runs in read-only mode, and can change nothing', async () => {
    const { text, made } = await outcome({ mode: 'read-only' })
    expect(text).toContain('done')
    expect(text).toContain('Read-only file system')
    expect(made).toBe(false)
  })

  test('is denied in read-only mode without a sandbox', async () => {
    expect(await outcome({ mode: 'read-only' }, { sandbox: 'off' })).toMatchObject({
      rule: 'read-only',
      made: false,
    })
  })

  test('can change nothing either when the agent above is read-only', async () => {
    const workspace = folder()
    const box = shell({ workspace, sandbox: 'required' })
    const worker = agent({
      name: 'worker',
      model: scriptedModel([[{ call: 'shell', input: { command } }], 'Done.']),
      tools: [box],
    })
    const chief = agent({
      model: scriptedModel([[{ call: 'worker', input: { prompt: 'go' } }], 'Done.']),
      tools: [worker.asTool({ description: 'Works' })],
      permission: permission({ mode: 'read-only', allow: ['worker'] }),
    })
    const events = await Array.fromAsync(chief.stream('Go.'))
    await box.close()
    expect(JSON.stringify(events)).toContain('Read-only file system')
    expect(existsSync(join(workspace, 'made'))).toBe(false)
  })
})
