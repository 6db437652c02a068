import { afterAll } from 'vitest'
import { cleanUp } from './clean-up.ts'

// Setup files run once per test file, even where files share modules.
afterAll(cleanUp)
