// First, so that a login code is out of the address before anything else reads that.
import './lib/session';
import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';

const target = document.getElementById('page');
if (target) mount(App, { target });
