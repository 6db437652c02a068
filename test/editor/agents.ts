import { files, permission, shell } from '@millrace/tools'
import { agent, type Message } from 'millrace'
import { type ScriptRound, scriptedModel } from 'millrace/testing'

// An agent that makes the calls of the last message, a list in JSON, in the folder of the editor, and
// repeats their results.

const workspace = process.cwd()

export default agent({
  name: 'hands',
  model: scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'user') return JSON.parse(textOf(last)) as ScriptRound
    return messages.map((one) => (one.role === 'tool' ? textOf(one) : '')).join('\n')
  }),
  tools: [files({ workspace }), shell({ workspace, sandbox: 'off', graceMs: 100 })],
  permission: permission({ allow: ['read(**)', 'run(**)'], deny: ['read(.env)', 'write(.env)'] }),
})

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
}
