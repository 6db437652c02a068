import { agent } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { hostedMcpApproval } from './hosted-approval.ts'

const asked = { server: 'links', tool: 'shorten', arguments: { url: 'https://example.com/' } }

const start = () =>
  agent({
    model: scriptedModel(script.tool('mcp_approval', asked, 'Done.')),
    tools: [hostedMcpApproval()],
  })

test('a person is asked, with the server and its tool', async () => {
  const { outcome, approvals } = await start().run('Shorten it.')
  expect(outcome).toBe('suspended')
  expect(approvals).toMatchObject([
    { name: 'mcp_approval', input: asked, reason: expect.stringMatching(/shorten of the MCP server links/) },
  ])
})
