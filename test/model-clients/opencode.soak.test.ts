import { clients } from './clients.ts'
import { clientScenarios, places } from './scenarios.test-kit.ts'

// Each start takes 8 seconds of CPU time.
await clientScenarios(clients.opencode, { cuts: places.slice(0, 1) })
