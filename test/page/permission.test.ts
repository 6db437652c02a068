import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SimulatedRequest } from '@millrace/simulator'
import { permission, permissionFile, shell } from '@millrace/tools'
import { agent, type Model } from 'millrace'
import { expect, onTestFinished, test } from 'vitest'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, screenshot } from './page.test-kit.ts'

const command = 'echo one && echo two'

/** The last message of a request to the model. */
function lastOf({ body }: SimulatedRequest) {
  const { messages } = body as unknown as { messages: { role: string; content: unknown }[] }
  return messages.at(-1) as (typeof messages)[number]
}

function openShell() {
  const workspace = mkdtempSync(join(tmpdir(), 'millrace-page-coder-'))
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
  const box = shell({ workspace })
  onTestFinished(() => box.close())
  return { workspace, box }
}

/** An agent with a real shell, whose model runs the same command for each message. */
async function openCoder() {
  const { box, workspace } = openShell()
  const rules = permission({
    deny: ['run(rm *)'],
    memory: permissionFile(join(workspace, 'permissions.json')),
  })
  return openDesk({
    script: (request) => {
      const { role, content } = lastOf(request)
      if (role === 'tool') return 'Done.'
      const text = JSON.stringify(content)
      return [{ call: 'shell', input: { command: text.includes('clean') ? 'rm -rf /nothing' : command } }]
    },
    agents: (model: Model) => ({ coder: agent({ name: 'coder', model, tools: [box], permission: rules }) }),
  })
}

describePage('permission rules', (visit) => {
  test('an approval shows the rules to remember, and applies once by default', async () => {
    const { url } = await openCoder()
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Go.')
    const card = chat.card('shell')
    await card.getByText('Run echo one and echo two?').waitFor()
    expect(await card.locator('legend code').allTextContents()).toEqual(['echo one', 'echo two'])
    // The command itself, as code.
    expect(await card.getByRole('figure', { name: 'command' }).locator('pre').textContent()).toBe(command)
    expect(await card.getByRole('radio').count()).toBe(3)
    expect(await card.getByRole('radio', { name: 'once' }).isChecked()).toBe(true)
    await card.getByRole('radio', { name: 'always' }).check()
    await card.getByText('Always allow running echo one and running echo two.').waitFor()
    await card.getByRole('radio', { name: 'once' }).check()
    await screenshot(page, 'chat-permission')
    await chat.button('Allow').click()
    await chat.ends(1)
    await chat.say('Again.')
    await chat.button('Allow').waitFor()
  })

  test('a rule allowed for the thread is not asked again, and the detail names it', async () => {
    const { url, app } = await openCoder()
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Go.')
    await chat.card('shell').getByRole('radio', { name: 'in this thread' }).check()
    await chat.button('Allow').click()
    await chat.ends(1)
    await chat.open('shell')
    await chat.card('shell').getByText('Allowed in this thread').waitFor()
    await chat.say('Again.')
    await chat.ends(2)
    const entries = await app.thread(chat.threadId()).read()
    expect(entries.filter(({ event }) => event.type === 'approval-request')).toHaveLength(1)
    await chat.card('shell').nth(1).getByRole('button', { name: 'Details' }).click()
    await page.getByText('allowed in this thread: run(echo one)').first().waitFor()
  })

  test('a rule that is always allowed applies to the next thread', async () => {
    const { url, app } = await openCoder()
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Go.')
    await chat.card('shell').getByRole('radio', { name: 'always' }).check()
    await chat.button('Allow').click()
    await chat.ends(1)
    const other = app.thread('other')
    await other.send('Go.')
    const types: string[] = []
    for await (const { event } of other.follow({ until: 'idle' })) types.push(event.type)
    expect(types).toContain('tool-result')
    expect(types).not.toContain('approval-request')
  })

  test('a denied call shows the rule, without asking', async () => {
    const { url } = await openCoder()
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Please clean up.')
    const card = chat.card('shell')
    await card.getByText('running `rm -rf /nothing` is not allowed here (rule: run(rm *))').first().waitFor()
    expect(await chat.button('Allow').count()).toBe(0)
    await card.getByRole('button', { name: 'Details' }).click()
    await page.getByText('deny run(rm *)').first().waitFor()
  })

  test('the output of a command is shown while it runs', async () => {
    const { box, workspace } = openShell()
    const { url } = await openDesk({
      script: (request) =>
        lastOf(request).role === 'tool'
          ? 'Done.'
          : [
              {
                call: 'shell',
                input: { command: 'echo started; while [ ! -e go ]; do sleep 0.05; done; echo finished' },
              },
            ],
      agents: (model: Model) => ({ coder: agent({ name: 'coder', model, tools: [box] }) }),
    })
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Go.')
    await chat.card('shell').getByLabel('Output').getByText('started').waitFor()
    writeFileSync(join(workspace, 'go'), '')
    await chat.ends(1)
    expect(await chat.card('shell').getByLabel('Output').count()).toBe(0)
    await chat.open('shell')
    await chat.card('shell').getByLabel('Output').getByText('finished').first().waitFor()
  })
})
