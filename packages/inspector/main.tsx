import { render } from 'preact'
import { App } from './app.tsx'
import './styles/base.css'
import './styles/app.css'

const place = document.getElementById('page')
if (place) render(<App />, place)
