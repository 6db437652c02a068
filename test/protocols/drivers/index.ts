import type { Driver } from '../protocol-client.ts'
import { a2a } from './a2a.ts'
import { acp } from './acp.ts'
import { agUi } from './ag-ui.ts'
import { aiSdk } from './ai-sdk.ts'
import { mcp } from './mcp.ts'
import { millrace } from './millrace.ts'

export const drivers: readonly Driver[] = [millrace, aiSdk, mcp, acp, a2a, agUi]
