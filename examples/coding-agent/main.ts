import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { fileURLToPath } from 'node:url'
import { type ApprovalRequestEvent, type Decision, detectModel, type RunEvent } from 'millrace'
import { coderFor } from './coder.ts'
import { scriptedSession } from './session.ts'

// npm run coding-agent                       a scripted session on a copy of ./project, without a key
// npm run coding-agent -- FOLDER 'task'      with your model, in your folder
const [folder, task = 'A test fails. Find out why, fix it, and explain the cause.'] = process.argv.slice(2)

function copyOfProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'coding-agent-'))
  cpSync(fileURLToPath(new URL('./project', import.meta.url)), copy, { recursive: true })
  return copy
}

const workspace = folder === undefined ? copyOfProject() : resolve(folder)
const model = folder === undefined ? scriptedSession() : (await detectModel()).model
if (!model) throw new Error('no model found: set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start a local model')

const { coder, tools } = coderFor(workspace, model)

function show(event: RunEvent) {
  if (event.type === 'text') process.stdout.write(event.text)
  if (event.type === 'round-retract') console.log('\n[stream interrupted, answer restarts]')
  if (event.type === 'tool-call')
    console.log(`\n→ ${event.name} ${JSON.stringify(event.input).slice(0, 100)}`)
  if (event.type !== 'tool-result') return
  const [first] = event.output
  const lines = first?.type === 'text' ? first.text.trimEnd().split('\n') : ['…']
  console.log(`\n← ${event.name}\n${lines.slice(-12).join('\n').replace(/^/gm, '  ')}`)
}

async function decide({ callId, name, reason, remember }: ApprovalRequestEvent): Promise<Decision> {
  const reader = createInterface({ input: process.stdin, output: process.stdout })
  const reply = await reader.question(`\n${name}: ${reason}. Allow it? [y, t in this thread, a always, N] `)
  reader.close()
  const how = remember?.for.find((how) => how.startsWith(reply.trim().toLowerCase() || '?'))
  return { callId, approved: how !== undefined || /^y/i.test(reply), ...(how && { remember: how }) }
}

console.log(`Working in ${workspace}.\n`)
let run = coder.stream(task)
for (;;) {
  for await (const event of run) show(event)
  const { outcome, approvals, error } = await run.result
  if (outcome !== 'suspended') {
    console.log(`\n\n(${outcome}${error ? `: ${error.message}` : ''})`)
    process.exitCode = outcome === 'completed' ? 0 : 1
    break
  }
  const decisions: Decision[] = []
  for (const request of approvals) decisions.push(await decide(request))
  run = run.resume(decisions)
}
for (const box of tools) if ('close' in box) await box.close()
