import { some } from '../size.ts'
import { clients } from './clients.ts'
import { clientScenarios, places } from './scenarios.test-kit.ts'

await clientScenarios(clients.claudeCode, { cuts: some(places) })
