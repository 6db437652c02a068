import { serve } from '@hono/node-server'
import { agent, detectModel, tool } from 'millrace'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { z } from 'zod'
import { slackBot } from './bot.ts'
import { slack } from './slack.ts'

const { SLACK_BOT_TOKEN: token, SLACK_SIGNING_SECRET: signingSecret, SLACK_API_URL: apiUrl } = process.env
if (!token || !signingSecret) {
  console.error('Set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET: see examples/slack-bot/README.md')
  process.exit(2)
}

const deploy = tool({
  name: 'deploy',
  description: 'Deploy a service',
  input: z.object({ service: z.string() }),
  approve: ({ service }) => `Deploy ${service}?`,
  run: ({ service }) => `${service} is deployed`,
})

const script = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return last.isError ? 'I did not deploy it.' : 'The website is deployed.'
  return [{ text: 'On it. ' }, { call: 'deploy', input: { service: 'website' } }]
})

const store = sqliteStore(process.env.DATA ?? 'slack-bot.db')
const bot = slackBot(
  slack({ token, signingSecret, apiUrl }),
  agent({ model: (await detectModel()).model ?? script, tools: [deploy] }),
  store,
)
const server = serve({ fetch: bot.fetch, port: Number(process.env.PORT ?? 3000) }, ({ port }) =>
  console.log(`http://localhost:${port}/slack/events`),
)
await bot.resume()

async function shutDown() {
  server.close()
  await bot.close()
  await store.close()
}
process.once('SIGINT', shutDown)
process.once('SIGTERM', shutDown)
