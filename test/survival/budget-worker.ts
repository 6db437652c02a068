import { agent } from '../../packages/millrace/src/agent/index.ts'
import { sqliteStore } from '../../packages/millrace/src/log/sqlite.ts'
import { openaiChat } from '../../packages/millrace/src/models/openai.ts'
import type { Limits } from '../../packages/millrace/src/protocol/index.ts'
import { millrace } from '../../packages/millrace/src/threads/index.ts'
import { tool } from '../../packages/millrace/src/tools/index.ts'
import type { ServerConfig } from './server-process.ts'

/** The config of a process that works on threads and is killed. */
export interface BudgetWorkerConfig
  extends Pick<ServerConfig, 'port' | 'file' | 'postgres' | 'provider' | 'leaseMs'> {
  readonly userPerDay: Limits
  readonly agentPerDay: Limits
}

/** A dollar per million tokens. */
export const prices = { priced: { input: 1, output: 1 } }

export function budgetAgent({
  provider,
  userPerDay,
  agentPerDay,
}: Pick<BudgetWorkerConfig, 'provider' | 'userPerDay' | 'agentPerDay'>) {
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: { jsonSchema: { type: 'object', properties: {} } },
    repeat: 'safe',
    run: () => 'seen',
  })
  return agent({
    name: 'desk',
    model: openaiChat('priced', { baseURL: `${provider}/v1`, apiKey: 'key' }),
    tools: [look],
    prices,
    settings: { maxOutputTokens: 60 },
    repeatLimits: false,
    budget: { userPerDay, agentPerDay },
  })
}

if (process.argv[2]) {
  const config = JSON.parse(process.argv[2]) as BudgetWorkerConfig
  const { file, postgres, leaseMs } = config
  const store =
    postgres === undefined ? sqliteStore(file) : (await import('@millrace/postgres')).postgresStore(postgres)
  millrace({ agents: budgetAgent(config), store, leaseMs, recoverMs: 50, maxLosses: 1000 })
  process.stdout.write('ready\n')
  // The parent process has exited.
  process.stdin.on('end', () => process.exit(1)).resume()
}
