import { agent, tool } from 'millrace'
import { nestedRunOf } from 'millrace/internal'
import { script, scriptedModel } from 'millrace/testing'
import { applyEntry, createView } from 'millrace/view'
import { expect, test } from 'vitest'
import { callFields } from './call-update.ts'

const input = { jsonSchema: { type: 'object' } }

/** What an editor shows at the end of the call of an agent's only tool. */
async function shown(called: Parameters<typeof agent>[0]['tools']) {
  const model = scriptedModel(script.tool('called', { prompt: 'Go.' }, 'Done.'))
  const view = createView()
  let seq = 0
  for await (const event of agent({ model, tools: called }).stream('Call it.'))
    applyEntry(view, { seq: ++seq, at: seq, event })
  const call = view.rows.find((row) => row.kind === 'call')
  return call && JSON.stringify(callFields(call, true).content)
}

test('the result of a call that keeps notes, or asks a model, is shown', async () => {
  const writer = agent({ name: 'writer', model: scriptedModel(() => 'From the model.') })
  const keeps = tool({
    name: 'called',
    description: 'Keeps notes in the log',
    input,
    run(_, context) {
      nestedRunOf(context).relay?.({ type: 'tool-progress', callId: 'own', data: { step: 1 } })
      return 'The result.'
    },
  })
  const asks = tool({
    name: 'called',
    description: 'Asks a model',
    input,
    async run(_, context) {
      await writer.asTool({ description: 'Writes' }).run?.({ prompt: 'Write.' } as never, context)
      return 'The result.'
    },
  })
  expect(await shown([keeps])).toContain('The result.')
  const both = await shown([asks])
  expect(both).toContain('From the model.')
  expect(both).toContain('The result.')
})

test('the answer of a sub-agent is shown once', async () => {
  const writer = agent({ name: 'writer', model: scriptedModel(() => 'From the model.') })
  const called = writer.asTool({ name: 'called', description: 'Writes' })
  expect((await shown([called]))?.split('From the model.')).toHaveLength(2)
})
