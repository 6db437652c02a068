import { afterAll } from 'vitest'
import { cleanUp } from './clean-up.ts'

// For every file anew, also where files share their modules.
afterAll(cleanUp)
