import { isWhole, some } from '../size.ts'
import { clients } from './clients.ts'
import { clientScenarios, places } from './scenarios.test-kit.ts'

await clientScenarios(clients.pi, { wires: isWhole ? clients.pi.wires : ['chat'], cuts: some(places) })
