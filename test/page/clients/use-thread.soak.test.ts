import { describeClient } from './scenarios.test-kit.ts'

describeClient('useThread', { page: 'use-thread', follows: true })
